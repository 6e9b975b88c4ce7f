import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Store } from '../../src/core/store.ts'
import { createGroupUnread } from '../../src/engine/group-unread.ts'
import { startRedisCluster } from '../fixtures/redis-server.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { openStore as openRedis } from '../stores/redis/kit.ts'
import { callOf, newMessage } from './kit.ts'

const ADA = callOf({ caller: { kind: 'cli', id: 'ada@host', roles: ['operator'] } })
const LIMITED = callOf({ caller: { kind: 'http', id: 'crm', roles: ['operator'], gateways: ['shop'] } })

/** Accepts messages from the gateways `shop` and `crm` in turn, and returns their ids. */
async function accept({ journal }: Store, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const gateway = n % 2 === 0 ? 'shop' : 'crm'
    const [accepted] = await journal.accept([newMessage({ gateway, text: `m${n}`, conversation: `c${n}` })])
    ids.push(accepted?.id ?? '')
  }
  return ids
}

/** All pages of a list, as ids. */
async function pagesOf(list: (after: string | undefined) => unknown): Promise<string[][]> {
  const pages: string[][] = []
  let after: string | undefined
  do {
    const page = Object(await list(after))
    pages.push(page.events.map(({ id }: { id: string }) => id))
    after = page.next
  } while (after !== undefined)
  return pages
}

for (const { kind, place, open } of storeKinds())
  describe(`what a group has not read, on the ${kind} store`, () => {
    const of = { topic: MESSAGE_TOPIC, queue: 'index' }
    const unreadOf = (store: Store) => createGroupUnread({ store, settings: { of: async () => ({}) } })

    test('pages list each event once, oldest first, and consume nothing', async (t) => {
      const store = await open(t, await place(t))
      await store.topics.subscribe(of.topic, of.queue, 'start')
      const ids = await accept(store, 7)
      await store.topics.ack(of.topic, of.queue, [ids[0] ?? '', ids[3] ?? ''])
      const unread = unreadOf(store)
      const pages = await pagesOf((after) => unread({ ...of, limit: 2, ...(after && { after }) }, ADA))
      assert.deepEqual(pages, [[ids[1], ids[2]], [ids[4], ids[5]], [ids[6]]])
      const [first] = Object(await unread({ ...of, limit: 1 }, ADA)).events
      assert.match(first.text, /m1$/)
      const [group] = await store.topics.groups(of.topic)
      assert.equal(Number(group?.lag) + Number(group?.pending), 5)
    })

    test('a replayed event has its place, and waits since the replay', async (t) => {
      const store = await open(t, await place(t))
      await store.topics.subscribe(of.topic, of.queue, 'start')
      const ids = await accept(store, 3)
      await store.topics.ack(of.topic, of.queue, ids.slice(0, 2))
      const round = Date.now() + 1_000
      await store.topics.restore(of.topic, of.queue, ids[0] ?? '', round)
      const { events } = Object(await unreadOf(store)({ ...of, limit: 9 }, ADA))
      assert.partialDeepStrictEqual(events, [{ id: ids[0], since: round, again: true }, { id: ids[2] }])
    })

    test('the filter of the group leaves events out, and so do the gateways of the caller', async (t) => {
      const store = await open(t, await place(t))
      const match = { gateway: ['crm'] }
      await store.topics.subscribe(of.topic, of.queue, 'start')
      const ids = await accept(store, 4)
      const unread = unreadOf(store)
      const listed = async (args: object, call = ADA) =>
        (await pagesOf((after) => unread({ ...of, limit: 1, ...args, ...(after && { after }) }, call))).flat()
      assert.deepEqual(await listed({ match }), [ids[1], ids[3]])
      assert.deepEqual(await listed({}, LIMITED), [ids[0], ids[2]])
    })

    test('a group that does not exist is an error', async (t) => {
      const store = await open(t, await place(t))
      const asked = unreadOf(store)({ ...of, limit: 1 }, ADA)
      await assert.rejects(asked, { code: 'group_not_found' })
    })
  })

test('pages over the shards of a cluster list each event once, in the order of ids', async (t) => {
  const server = await startRedisCluster()
  t.after(() => server.stop())
  const store = await openRedis(server.url, { shards: 4 })
  t.after(() => store.close())
  const of = { topic: MESSAGE_TOPIC, queue: 'index' }
  await store.topics.subscribe(of.topic, of.queue, 'start')
  const ids = (await accept(store, 40)).toSorted()
  const unread = createGroupUnread({ store, settings: { of: async () => ({}) } })
  const pages = await pagesOf((after) => unread({ ...of, limit: 7, ...(after && { after }) }, ADA))
  assert.deepEqual(pages.flat(), ids)
  assert.equal(pages.length, 6)
})
