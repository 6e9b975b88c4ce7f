import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '../../src/core/message-id.ts'
import { parseSearch } from '../../src/core/search-words.ts'
import { createSearch, searchOf } from '../../src/engine/search.ts'
import { createUnknownNames } from '../../src/engine/unknown-names.ts'
import { pause } from '../../src/lib/pause.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

test('a filter and search words that name different values of one field find nothing', () => {
  const caller = { kind: 'cli' } as const
  for (const field of ['gateway', 'route', 'transport', 'conversation', 'event']) {
    const gatewaysWith = (value: string) =>
      searchOf({ [field]: 'a', search: { words: [], [field]: value } }, caller).gateways
    assert.deepEqual(gatewaysWith('b'), [], field)
    assert.deepEqual(gatewaysWith('a'), field === 'gateway' ? ['a'] : undefined, field)
  }
})

test('a list of messages can leave out those that nobody can answer, and filter the others', async (t) => {
  const store = await openStore(t)
  const texts = ['Where is order 4655?', 'a machine waits', 'a machine', 'Thanks']
  const gateways = ['support', 'waiting', 'shop', 'support']
  const messages = texts.map((text, at) =>
    newMessage({ text, gateway: gateways[at] ?? '', conversation: text }),
  )
  await store.journal.accept(messages)
  const { list } = createSearch(store, undefined, {
    answerable: () => ['support', 'waiting'],
    unanswerable: ({ text }) => (text === 'a machine waits' ? 'it does not wait any more' : undefined),
  })
  const found = async (filter: object) => {
    const rows: { text: string }[] = Object(await list({ limit: 10, ...filter }, callOf()))
    return rows.map(({ text }) => text)
  }
  assert.deepEqual(await found({}), texts.toReversed())
  assert.deepEqual(await found({ answerable: true }), ['Thanks', 'Where is order 4655?'])
  assert.deepEqual(await found({ answerable: true, gateway: 'shop' }), [])
  assert.deepEqual(await found({ answerable: true, text: 'ORDER 46' }), ['Where is order 4655?'])
})

test('a search without a result names the gateway, route, transport or conversation that does not exist', async (t) => {
  const store = await openStore(t)
  await store.journal.accept([newMessage({ gateway: 'shop', conversation: 'shop:#5111' })])
  const unknownIn = createUnknownNames({
    journal: store.journal,
    gateways: () => [
      { name: 'shop', transport: 'webhook' },
      { name: 'support', transport: 'email' },
    ],
    routes: () => [{ name: 'orders' }, { name: 'labels' }],
  })
  const { search } = createSearch(store, undefined, {
    answerable: () => [],
    unanswerable: () => undefined,
    unknownIn,
  })
  const unknown = async (text: string, gateways?: string[]) => {
    const { caller } = callOf()
    const call = callOf({ caller: { ...caller, ...(gateways && { gateways }) } })
    return Object(await search({ limit: 10, search: parseSearch(text) }, call)).unknown
  }
  assert.deepEqual(await unknown('gateway:suport late'), [
    { key: 'gateway', name: 'suport', near: ['support'] },
  ])
  assert.deepEqual(await unknown('route:order'), [{ key: 'route', name: 'order', near: ['orders'] }])
  assert.deepEqual(await unknown('transport:mail'), [{ key: 'transport', name: 'mail', near: ['email'] }])
  assert.deepEqual(await unknown('conversation:5111'), [
    { key: 'conversation', name: '5111', near: ['shop:#5111'] },
  ])
  assert.equal(await unknown('conversation:#5111'), undefined)
  // Another filter may leave out the messages of a conversation that exists.
  const later = { limit: 10, search: parseSearch('conversation:#5111'), since: Date.now() + 60_000 }
  assert.equal(Object(await search(later, callOf())).unknown, undefined)
  assert.equal(await unknown('gateway:support'), undefined)
  // A caller with access to some gateways learns nothing about the others.
  assert.deepEqual(await unknown('transport:mail', ['shop']), [
    { key: 'transport', name: 'mail', near: ['webhook'] },
  ])
  assert.equal(await unknown('route:order', ['shop']), undefined)
})

test('a former gateway, route or transport is known as long as a message has it', async (t) => {
  const store = await openStore(t)
  const [accepted] = await store.journal.accept([newMessage({ gateway: 'desk', transport: 'bolt' })])
  const note = { at: Date.now(), road: 'dispatch' as const, what: 'done', detail: { route: 'old' } }
  await store.journal.note(accepted?.id ?? '', [note])
  const unknownIn = createUnknownNames({
    journal: store.journal,
    gateways: () => [{ name: 'shop', transport: 'webhook' }],
    routes: () => [{ name: 'orders' }],
  })
  const { search } = createSearch(store, undefined, {
    answerable: () => [],
    unanswerable: () => undefined,
    unknownIn,
  })
  const unknown = async (text: string) =>
    Object(await search({ limit: 10, search: parseSearch(`${text} nowhere`) }, callOf())).unknown
  for (const known of ['gateway:desk', 'transport:bolt', 'route:old'])
    assert.equal(await unknown(known), undefined, known)
  assert.equal((await unknown('gateway:dsk'))[0].name, 'dsk')
  assert.equal((await unknown('route:older'))[0].name, 'older')
  // A search that was cut proves nothing.
  const cut = { search: async () => ({ found: [], next: makeId(60_000, 1, 0) }) }
  const ofCut = createUnknownNames({ journal: cut, gateways: () => [], routes: () => [] })
  assert.equal(await ofCut(parseSearch('route:older'), {}, false), undefined)
})

test('a search that has not read all messages names no unknown conversation', async () => {
  const name = { key: 'conversation' as const, name: '#5111', near: [] }
  const unknownOf = async (page: object) => {
    const journal = Object({ search: async () => ({ found: [], ...page }) })
    const { search } = createSearch({ journal }, undefined, {
      answerable: () => [],
      unanswerable: () => undefined,
      unknownIn: async (_search, _caller, isWhole) => (isWhole ? [name] : undefined),
    })
    return Object(await search({ limit: 10, search: parseSearch('conversation:#5111') }, callOf())).unknown
  }
  assert.deepEqual(await unknownOf({}), [name])
  assert.equal(await unknownOf({ next: makeId(60_000, 1, 0) }), undefined)
  assert.equal(await unknownOf({ away: ['b'] }), undefined)
})

test('a partial list ends after a while, also without a match, and says how far it has searched', async () => {
  const next = makeId(60_000, 1, 0)
  let pages = 0
  const search = async () => {
    pages++
    await pause(1)
    return { found: [], next }
  }
  const { list } = createSearch({ journal: Object({ search }) })
  const filter = { limit: 10, sender: 'nobody' }
  const page = await list({ ...filter, partial: true }, callOf())
  assert.deepEqual(page, { messages: [], next, searchedTo: 60_000 })
  // A caller that is gone ends the search.
  const gone = new AbortController()
  const listed = list(filter, callOf({ signal: gone.signal }))
  const before = pages
  await until(() => pages > before, 'the next page')
  gone.abort()
  assert.deepEqual(await listed, [])
})
