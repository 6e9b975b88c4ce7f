import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { silent } from '../../src/core/log.ts'
import type { Store } from '../../src/core/store.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { createLateAnswerReader, createLateAnswers } from '../../src/engine/late-answers.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf, MESSAGE_DEPS, newMessage } from './kit.ts'

/** Accepts a message. Returns a function that answers it this long (ms) from now. */
async function accept(store: Store, conversation: string) {
  const [one] = await store.journal.accept([newMessage({ gateway: 'support', conversation })])
  const id = String(one?.id)
  const answer = async (after: number) => {
    const at = Date.now() + after
    const reply = { inReplyTo: id, key: `by-hand:${id}:${after}`, gateway: 'support' }
    await createLateAnswers(store, silent, () => at)(reply)
    const detail = { text: 'It is on its way.', key: reply.key }
    await store.journal.note(id, [{ at, road: 'outbox', what: 'sent', detail }])
  }
  return { id, answer }
}

async function fill(store: Store, count: number) {
  const filled = []
  for (let index = 0; index < count; index++) filled.push(await accept(store, `c${index}`))
  return filled
}

const MINUTES = 60_000

for (const { kind, place, open } of storeKinds())
  describe(`conversation-list on the ${kind} store`, () => {
    const listOf = (store: Store) => {
      const { list } = createConversations({ ...MESSAGE_DEPS, store })
      return async (args: object) => {
        const page = Object(await list({ limit: 4, ...args }, callOf()))
        return { next: page.next, rows: page.conversations }
      }
    }
    const namesOf = (rows: { conversation: string }[]) => rows.map(({ conversation }) => conversation)

    test('an old conversation that was just answered is on the first page, also after a restart', async (t) => {
      const where = await place(t)
      const before = await open(t, where)
      const [, second] = await fill(before, 12)
      const known = listOf(before)
      assert.deepEqual(namesOf((await known({})).rows), ['c11', 'c10', 'c9', 'c8'])
      await second?.answer(5 * MINUTES)
      const page = await known({})
      assert.deepEqual(namesOf(page.rows), ['c1', 'c11', 'c10', 'c9'])
      const [{ messages, reply, answeredAt }] = page.rows
      assert.deepEqual([messages, reply.text, answeredAt], [1, 'It is on its way.', reply.at])
      await before.close()
      const after = await open(t, where)
      assert.deepEqual(await listOf(after)({}), page)
    })

    test('each conversation is on some page, and a page has no more than its limit', async (t) => {
      const store = await open(t, await place(t))
      const filled = await fill(store, 12)
      for (const at of [0, 2, 5]) await filled[at]?.answer((2 + at) * MINUTES)
      const list = listOf(store)
      const seen: string[][] = []
      let before: string | undefined
      do {
        const { rows, next } = await list(before === undefined ? {} : { before })
        seen.push(namesOf(rows))
        before = next
      } while (before !== undefined)
      assert.deepEqual(seen[0], ['c5', 'c2', 'c0', 'c11'])
      assert.ok(seen.every(({ length }) => length <= 4))
      assert.equal(new Set(seen.flat()).size, 12)
    })

    test('it has its newest message, and an answer within a minute does not move it', async (t) => {
      const store = await open(t, await place(t))
      const first = await accept(store, 'ada')
      await accept(store, 'ada')
      const quick = await accept(store, 'bob')
      await fill(store, 8)
      await quick.answer(30_000)
      await first.answer(5 * MINUTES)
      const { rows } = await listOf(store)({})
      assert.deepEqual(namesOf(rows), ['ada', 'c7', 'c6', 'c5'])
      assert.equal(rows[0].messages, 2)
      assert.notEqual(rows[0].id, first.id)
    })

    test('a message that was erased moves nothing', async (t) => {
      const store = await open(t, await place(t))
      const [one] = await fill(store, 8)
      await one?.answer(5 * MINUTES)
      await store.erasing.dropMessages([one?.id ?? ''])
      assert.deepEqual(namesOf((await listOf(store)({})).rows), ['c7', 'c6', 'c5', 'c4'])
    })

    test('answers that were read before a failure are not added again', async (t) => {
      const store = await open(t, await place(t))
      for (const one of await fill(store, 3)) await one.answer(5 * MINUTES)
      let reads = 0
      const tail: Store['topics']['tail'] = (topic, after) => {
        if (++reads === 2) throw new Error('away')
        return store.topics.tail(topic, after, 1)
      }
      const read = createLateAnswerReader({ topics: { ...store.topics, tail } })
      const all = { since: 0, until: Date.now() + 60 * MINUTES }
      assert.equal((await read(all)).length, 1)
      assert.equal((await read(all)).length, 3)
    })
  })
