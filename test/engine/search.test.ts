import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSearch, searchOf } from '../../src/engine/search.ts'
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
