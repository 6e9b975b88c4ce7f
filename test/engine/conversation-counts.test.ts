import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as timer } from 'node:timers/promises'
import { timeOf } from '../../src/core/message-id.ts'
import type { Store } from '../../src/core/store.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf, MESSAGE_DEPS, newMessage } from './kit.ts'

const accept = async ({ journal }: Store, conversation: string, text = 'hello') => {
  const [one] = await journal.accept([newMessage({ gateway: 'support', conversation, text })])
  return timeOf(one?.id ?? '')
}

/** Björk wrote first, then 60 others, then Björk again. */
async function fill(store: Store): Promise<number> {
  const first = await accept(store, 'bjork', 'Where is my lamp?')
  for (let index = 0; index < 60; index++) await accept(store, `other-${index}`)
  await accept(store, 'bjork', 'It is urgent.')
  return first
}

for (const { kind, place, open } of storeKinds())
  describe(`conversation-list on the ${kind} store`, () => {
    test('counts all messages, and says since when somebody waits, whatever the limit', async (t) => {
      const store = await open(t, await place(t))
      const first = await fill(store)
      const { list } = createConversations({ ...MESSAGE_DEPS, store })
      const rowOf = async (args: object) => {
        const { conversations } = Object(await list({ answerable: true, limit: 10, ...args }, callOf()))
        const { messages, waitingSince } = conversations[0]
        return { messages, waitingSince }
      }
      const whole = { messages: 2, waitingSince: first }
      assert.deepEqual(await rowOf({ limit: 1, unanswered: true }), whole)
      assert.deepEqual(await rowOf({ unanswered: true }), whole)
      assert.deepEqual(await rowOf({}), whole)
      assert.deepEqual(await rowOf({ answerable: true }), whole)
      // A search counts its matches.
      assert.deepEqual(await rowOf({ text: 'urgent' }), { ...whole, messages: 1 })
      assert.deepEqual(await rowOf({ text: 'urgent', unanswered: true }), { ...whole, messages: 1 })
    })

    test('who waits longest is found although they wrote again', async (t) => {
      const store = await open(t, await place(t))
      const first = await fill(store)
      const { list, show } = createConversations({ ...MESSAGE_DEPS, store })
      const { conversations } = Object(await list({ unanswered: true, limit: 50 }, callOf()))
      const since = conversations.map(({ waitingSince }: { waitingSince: number }) => waitingSince)
      assert.equal(Math.min(...since), first)
      const shown = await show({ gateway: 'support', conversation: 'bjork', limit: 1 }, callOf())
      assert.equal(Object(shown).waitingSince, first)
    })
  })

test('a journal that is too long to count says from when on it counted', async (t) => {
  const [{ place, open } = assert.fail()] = storeKinds()
  const store = await open(t, await place(t))
  await fill(store)
  let calls = 0
  const search: Store['journal']['search'] = async (query) => {
    // The first read is the page of the list.
    if (++calls > 1) await timer(300)
    return store.journal.search({ ...query, limit: calls > 1 ? 2 : query.limit })
  }
  const slow = { ...store, journal: { ...store.journal, search } }
  const { list } = createConversations({ ...MESSAGE_DEPS, store: slow })
  const found = Object(await list({ limit: 1 }, callOf()))
  assert.equal(found.conversations[0].messages, 1)
  assert.ok(found.countedTo <= timeOf(found.conversations[0].id))
})

/** A store that counts searches, and messages that are read by their ids. */
function counted(store: Store) {
  const reads = { searches: 0, gets: 0 }
  const journal: Store['journal'] = {
    ...store.journal,
    search: (query) => {
      reads.searches++
      return store.journal.search(query)
    },
    get: (id) => {
      reads.gets++
      return store.journal.get(id)
    },
  }
  return { reads, store: { ...store, journal } }
}

for (const { kind, place, open } of storeKinds())
  test(`calls that follow one another read older messages on the ${kind} store once`, async (t) => {
    const opened = await open(t, await place(t))
    const first = await fill(opened)
    const { reads, store } = counted(opened)
    const { list } = createConversations({ ...MESSAGE_DEPS, store })
    const poll = async (args: object = {}) => {
      Object.assign(reads, { searches: 0, gets: 0 })
      const { conversations } = Object(await list({ answerable: true, limit: 10, ...args }, callOf()))
      const row = conversations.find((one: { conversation: string }) => one.conversation === 'bjork')
      assert.ok(reads.gets <= row.messages)
      return { messages: row.messages, waitingSince: row.waitingSince, searches: reads.searches }
    }
    const bjork = { messages: 2, waitingSince: first }
    assert.deepEqual(await poll(), { ...bjork, searches: 2 })
    assert.deepEqual(await poll(), { ...bjork, searches: 1 })
    assert.deepEqual(await poll({ unanswered: true }), { ...bjork, searches: 1 })
    await accept(opened, 'new')
    assert.deepEqual(await poll(), { ...bjork, searches: 1 })

    // A page without any message that was known: what is new is read once.
    for (let index = 0; index < 12; index++) await accept(opened, `new-${index}`)
    await accept(opened, 'bjork', 'Hello?')
    assert.deepEqual(await poll(), { ...bjork, messages: 3, searches: 2 })
    assert.deepEqual(await poll(), { ...bjork, messages: 3, searches: 1 })
  })

test('who waits is shown without a message that was erased after it was counted', async (t) => {
  const [{ place, open } = assert.fail()] = storeKinds()
  const store = await open(t, await place(t))
  await fill(store)
  const { list } = createConversations({ ...MESSAGE_DEPS, store })
  const newest = async () => Object(await list({ limit: 1 }, callOf())).conversations[0]
  assert.ok((await newest()).waitingSince < (await newest()).at)
  const { found } = await store.journal.search({ conversation: 'bjork', limit: 2 })
  await store.erasing.dropMessages([found[1]?.message.id ?? ''])
  const { waitingSince, id } = await newest()
  assert.equal(waitingSince, timeOf(id))
})
