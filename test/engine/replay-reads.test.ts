import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const HOUR = 3_600_000

/** The jobs of a daemon, and the group `analytics`, which has read `count` events of `orders`. */
async function daemonWith(t: TestContext, store: Store, count: number) {
  const work = createLongWork({ store, owner: 'a', log: createMemoryLog(), now: Date.now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ store, work, now: Date.now })
  await store.topics.subscribe('orders', 'analytics', 'start')
  for (let n = 0; n < count; n++)
    await store.topics.publish('orders', [{ type: 'order', source: 'test', data: { n } }])
  const read = async (max: number, mode: 'consume' | 'lease' = 'consume') => {
    const request = { group: 'analytics', max, mode, lease: HOUR }
    const [batch] = await store.topics.read('orders', [request])
    return batch?.items.map(({ id }) => id) ?? []
  }
  const show = (id: string) => work.service.show({ id })
  return {
    read,
    show,
    ids: await read(count),
    cancel: (id: string) => work.service.cancel({ id }, BY),
    list: work.service.list,
    /** Starts a replay, by default of all events, and waits until they can be read. */
    async replay(range: { from?: string } = {}): Promise<string> {
      const { id } = await replay.begin({ topic: 'orders', group: 'analytics', range }, BY)
      await until(async () => (await show(id)).state === 'done', 'the end of the replay')
      return id
    },
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`a replay to a group that is pulled, on the ${kind} store`, () => {
    test('is delivering until its events are read', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 5)
      const id = await group.replay()
      assert.partialDeepStrictEqual(await group.show(id), {
        state: 'done',
        delivering: true,
        outcomes: { read: 0, waiting: 5 },
      })
      assert.deepEqual(await group.read(2), group.ids.slice(0, 2))
      const [listed] = await group.list({ limit: 9, state: 'delivering' })
      assert.partialDeepStrictEqual(listed, { id, outcomes: { read: 2, waiting: 3 } })
      // Events under a lease are not read yet.
      const leased = await group.read(9, 'lease')
      assert.deepEqual((await group.show(id)).outcomes, { read: 2, waiting: 3 })
      assert.equal(await store.topics.ack('orders', 'analytics', leased), 3)
      const done = await group.show(id)
      assert.deepEqual(done.outcomes, { read: 5, waiting: 0 })
      assert.equal(done.delivering, undefined)
      assert.deepEqual(await group.list({ limit: 9, state: 'delivering' }), [])
    })

    test('is cancelled after handing over: what is not read is withdrawn', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 5)
      await store.topics.publish('orders', [{ type: 'order', source: 'test', data: { n: 'new' } }])
      const id = await group.replay()
      await group.read(1)
      const [leased = ''] = await group.read(1, 'lease')
      const cancelled = await group.cancel(id)
      assert.partialDeepStrictEqual(cancelled, {
        state: 'cancelled',
        cancelled: { by: 'ada@host' },
        result: { events: 5, unread: 1, withdrawn: 3 },
        outcomes: { read: 1, waiting: 0, withdrawn: 3, leased: 1 },
      })
      assert.equal(cancelled.delivering, undefined)
      const [own, ...others] = await group.read(9)
      assert.ok(own !== undefined && own > leased, 'the event that the group had to read anyway')
      assert.deepEqual(others, [])
      await assert.rejects(group.cancel(id), { code: 'job_ended' })
    })

    test('claims no reads of events that a later replay delivers', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 3)
      const first = await group.replay()
      await group.replay()
      assert.equal((await group.show(first)).outcomes, undefined)
    })

    test('shares unread events with a later one, and neither counts them as read', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 5)
      const first = await group.replay()
      const later = await group.replay({ from: group.ids[2] ?? '' })
      assert.partialDeepStrictEqual((await group.show(later)).result, { events: 0, unread: 3 })
      assert.deepEqual((await group.show(first)).outcomes, { waiting: 2 })
      assert.partialDeepStrictEqual(await group.show(later), { delivering: true, outcomes: { waiting: 3 } })
      await group.read(3)
      assert.deepEqual((await group.show(later)).outcomes, { waiting: 2 })
      const { outcomes } = await group.cancel(later)
      assert.deepEqual(outcomes, { waiting: 0, withdrawn: 2 })
    })

    test('does not count reads while a later one runs', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 3)
      const first = await group.replay()
      const key = `long-job:${first}`
      const stored = Object((await store.kv.get(key))?.value)
      const { result: _, ...running } = { ...stored, id: 'replay-later', startedAt: stored.startedAt + 1 }
      // Another daemon works on it.
      await store.leases.acquire('long-job/replay-later', 'b', HOUR)
      await store.kv.set('long-job:replay-later', { ...running, state: 'running' })
      assert.deepEqual((await group.show(first)).outcomes, { waiting: 3 })
    })

    test('has no outcomes once its group is gone', async (t) => {
      const store = await open(t, await place(t))
      const group = await daemonWith(t, store, 3)
      const id = await group.replay()
      await store.topics.unsubscribe('orders', 'analytics')
      assert.equal((await group.show(id)).outcomes, undefined)
    })
  })
}
