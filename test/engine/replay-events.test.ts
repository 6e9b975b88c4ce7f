import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Json } from '../../src/core/json.ts'
import type { LongJob } from '../../src/core/long-job.ts'
import { matchSchema } from '../../src/core/match.ts'
import { timeOf } from '../../src/core/message-id.ts'
import type { Store } from '../../src/core/store.ts'
import type { EventRange } from '../../src/engine/event-range.ts'
import { createLongWork, type WorkKind } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { countWanted } from '../../src/engine/replay-pages.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })

/** The long jobs and the replay of one daemon. */
function daemonOn(t: TestContext, store: Store, owner: string) {
  const work = createLongWork({ store, owner, log: createMemoryLog(), now: Date.now })
  cleanup(t, () => work.stop())
  const show = (id: string) => work.service.show({ id })
  const ended = (id: string) =>
    until(async () => {
      const job = await show(id)
      return job.state === 'running' ? undefined : job
    }, `the end of ${id}`)
  return { ...work, show, ended, replay: createReplayEvents({ store, work, now: Date.now }) }
}

/**
 * Adds `count` events and consumes them with the group `analytics`. Returns their ids, oldest
 * first.
 */
async function addConsumed(store: Store, topic: string, count: number): Promise<string[]> {
  await store.topics.subscribe(topic, 'analytics', 'start')
  if (topic === MESSAGE_TOPIC)
    for (let n = 0; n < count; n++) await store.journal.accept([newMessage({ text: `m${n}` })])
  else
    for (let n = 0; n < count; n++)
      await store.topics.publish(topic, [{ type: 'order', source: 'test', data: { n } }])
  const ids = await read(store, topic)
  assert.equal(ids.length, count)
  return ids
}

/**
 * Adds three events that the group does not read, one of which is like the second of `addConsumed`.
 */
async function addMixed(store: Store, topic: string): Promise<void> {
  for (const n of [1, 8, 9])
    if (topic === MESSAGE_TOPIC) await store.journal.accept([newMessage({ text: `m${n}` })])
    else await store.topics.publish(topic, [{ type: 'order', source: 'test', data: { n } }])
}

/** Consumes all events that the group can see. Returns their ids. */
async function read(store: Store, topic: string): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const [batch] = await store.topics.read(topic, [{ group: 'analytics', max: 500, mode: 'consume' }])
    if (!batch?.items.length) return ids
    ids.push(...batch.items.map(({ id }) => id))
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`a replay, on the ${kind} store`, () => {
    for (const topic of [MESSAGE_TOPIC, 'orders']) {
      test(`redelivers the events of ${topic} from one id to another, inclusive`, async (t) => {
        const store = await open(t, await place(t))
        const daemon = daemonOn(t, store, 'a')
        const ids = await addConsumed(store, topic, 12)
        const range: EventRange = { from: ids[3], to: ids[8] }
        const job = await daemon.replay.begin({ topic, group: 'analytics', range }, BY)
        assert.partialDeepStrictEqual(job, {
          kind: 'replay',
          state: 'running',
          by: 'ada@host',
          total: 6,
          target: { topic, group: 'analytics', from: ids[3] ?? '', to: ids[8] ?? '' },
        })
        assert.partialDeepStrictEqual(await daemon.ended(job.id), {
          state: 'done',
          done: 6,
          result: { events: 6 },
        })
        assert.deepEqual(await read(store, topic), ids.slice(3, 9))
      })
    }

    test('by time includes the start and excludes the end', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 8)
      const times = ids.map(timeOf)
      const since = times[2] ?? 0
      // Events of the same millisecond make the range longer.
      const until = Math.max(times[6] ?? 0, since + 1)
      const job = await daemon.replay.begin(
        { topic: 'orders', group: 'analytics', range: { since, until } },
        BY,
      )
      await daemon.ended(job.id)
      const inRange = ids.filter((id) => timeOf(id) >= since && timeOf(id) < until)
      assert.deepEqual(await read(store, 'orders'), inRange)
    })

    test('without bounds redelivers all events; jobs are listed newest first', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 8)
      const begin = (range: EventRange) =>
        daemon.replay.begin({ topic: 'orders', group: 'analytics', range }, BY)
      const first = await begin({ from: ids[7] })
      await daemon.ended(first.id)
      const second = await begin({})
      await daemon.ended(second.id)
      assert.deepEqual(await read(store, 'orders'), ids)
      const jobs = await daemon.service.list({ kind: 'replay', limit: 10 })
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [second.id, first.id],
      )
    })

    test('counts the events of a range, with the first and last time, without a job', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 9)
      const times = ids.map(timeOf)
      const count = (range: EventRange, of = 'orders') =>
        daemon.replay.count({ topic: of, group: 'analytics', range })
      const [firstAt, lastAt] = [times[2], times[6]]
      const range = { from: ids[2], to: ids[6] }
      const none = { events: 0, redelivered: 0, unread: 0 }
      assert.deepEqual(await count(range), { events: 5, redelivered: 5, unread: 0, firstAt, lastAt })
      assert.deepEqual(await count({ since: (times[8] ?? 0) + 1 }), none)
      await assert.rejects(count({}, 'unknown'), { code: 'group_not_found' })
      await assert.rejects(count({ since: 5, until: 5 }), /ends before it begins/)
      assert.deepEqual(await daemon.service.list({ limit: 10 }), [])
      assert.deepEqual(await read(store, 'orders'), [])
    })

    test('offers and counts no erased events', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 9)
      await store.erasing.dropEvents('orders', [ids[4] ?? '', ids[5] ?? ''])
      const target = { topic: 'orders', group: 'analytics', range: { from: ids[2] } }
      assert.partialDeepStrictEqual(await daemon.replay.count(target), {
        events: 5,
        redelivered: 5,
        unread: 0,
      })
      const job = await daemon.replay.begin(target, BY)
      assert.equal(job.total, 5)
      assert.partialDeepStrictEqual(await daemon.ended(job.id), { done: 5, total: 5, result: { events: 5 } })
      assert.partialDeepStrictEqual(await daemon.replay.count(target), { redelivered: 0, unread: 5 })
      const [group] = await store.topics.groups('orders')
      assert.equal(Number(group?.lag) + Number(group?.again), 5)
    })

    test('tells events that come again from those that the group has not read or is reading', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 6)
      const more = Array.from({ length: 4 }, (_, n) => ({ type: 'order', source: 'test', data: { n } }))
      await store.topics.publish('orders', more)
      await store.topics.read('orders', [{ group: 'analytics', max: 1, mode: 'lease', lease: 60_000 }])
      const count = () =>
        daemon.replay.count({ topic: 'orders', group: 'analytics', range: { from: ids[4] } })
      assert.partialDeepStrictEqual(await count(), { events: 6, redelivered: 2, unread: 4 })
      const job = await daemon.replay.begin(
        { topic: 'orders', group: 'analytics', range: { from: ids[4] } },
        BY,
      )
      assert.deepEqual((await daemon.ended(job.id)).result, { events: 2, unread: 4 })
      assert.partialDeepStrictEqual(await count(), { redelivered: 0, unread: 6 })
    })

    for (const topic of [MESSAGE_TOPIC, 'orders']) {
      test(`counts and redelivers only the events of ${topic} that the filter of the group wants`, async (t) => {
        const store = await open(t, await place(t))
        const daemon = daemonOn(t, store, 'a')
        const ids = await addConsumed(store, topic, 6)
        const wanted = topic === MESSAGE_TOPIC ? { text: '/^m[1-3]$/' } : { 'data.n': ['1', '2', '3'] }
        const match = matchSchema.parse(wanted)
        await addMixed(store, topic)
        const target = { topic, group: 'analytics', match, range: {} }
        const counts = { events: 9, redelivered: 3, unread: 1, filtered: 5 }
        assert.partialDeepStrictEqual(await daemon.replay.count(target), counts)
        const job = await daemon.replay.begin(target, BY)
        assert.deepEqual((await daemon.ended(job.id)).result, { events: 3, unread: 1, filtered: 5 })
        const rest = (await read(store, topic)).filter((id) => ids.includes(id))
        assert.deepEqual(rest, ids.slice(1, 4))
      })
    }

    test('a count with a filter that takes too long says so', async (t) => {
      const store = await open(t, await place(t))
      await addConsumed(store, 'orders', 6)
      const group = { topic: 'orders', group: 'analytics', match: matchSchema.parse({ event: 'order' }) }
      const count = (time: number) => countWanted(store, group, [{ after: 0, last: 6 }], time)
      assert.deepEqual(await count(0), { redelivered: 0, unread: 0, filtered: 0, more: true })
      assert.deepEqual(await count(60_000), { redelivered: 6, unread: 0, filtered: 0 })
    })

    test('refuses an unknown group and a range that ends before it begins', async (t) => {
      const store = await open(t, await place(t))
      const { replay, show } = daemonOn(t, store, 'a')
      const ids = await addConsumed(store, 'orders', 3)
      await assert.rejects(replay.begin({ topic: 'orders', group: 'unknown', range: {} }, BY), {
        code: 'group_not_found',
      })
      for (const range of [
        { since: 5, until: 5 },
        { from: ids[2], to: ids[1] },
      ])
        await assert.rejects(
          replay.begin({ topic: 'orders', group: 'analytics', range }, BY),
          /ends before it begins/,
        )
      await assert.rejects(show('replay-1'), { code: 'job_not_found' })
    })

    test('another daemon continues a job of a stopped one from its saved state', async (t) => {
      const store = await open(t, await place(t))
      const first = daemonOn(t, store, 'a')
      const startedFrom: Json[] = []
      const countToSix = (hangsAtThree: boolean): WorkKind => ({
        kind: 'count',
        async run({ data }, { save, signal }) {
          startedFrom.push(data)
          for (let n = Number(data ?? 0); n < 6; n++) {
            if (hangsAtThree && n === 3)
              await new Promise((_, reject) => signal.addEventListener('abort', reject))
            await save({ data: n + 1, done: n + 1 })
          }
          return { counted: 6 }
        },
      })
      first.offer(countToSix(true))
      const job = await first.begin({ kind: 'count', target: {}, data: 0, total: 6 }, BY)
      await until(async () => (await first.show(job.id)).done === 3, 'half of the work')
      await first.stop()
      assert.equal((await first.show(job.id)).state, 'running')
      const second = daemonOn(t, store, 'b')
      second.offer(countToSix(false))
      second.start()
      const done: LongJob = await second.ended(job.id)
      assert.partialDeepStrictEqual(done, { state: 'done', done: 6, result: { counted: 6 } })
      assert.deepEqual(startedFrom, [0, 3])
    })

    test('a job is retried after a retryable error, and fails after a permanent one', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const retryable = new TriviumError('store_unavailable', { store: 'x', reason: 'unreachable' })
      const errors = [retryable, new TriviumError('group_not_found', { group: 'g', topic: 't' })]
      daemon.offer({ kind: 'unlucky', run: () => Promise.reject(errors.shift()) })
      const job = await daemon.begin({ kind: 'unlucky', target: {}, data: null }, BY)
      await until(
        async () => (await daemon.show(job.id)).error?.code === 'store_unavailable',
        'the first error',
      )
      const ended = await daemon.ended(job.id)
      assert.partialDeepStrictEqual(ended, { state: 'failed', error: { code: 'group_not_found' } })
    })

    test('a cancelled job ends after its current step, and its data is removed', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const secondStep = Promise.withResolvers<void>()
      daemon.offer({
        kind: 'slow',
        async run(_, { save }) {
          await save({ done: 1 })
          await secondStep.promise
          await save({ done: 2 })
          return null
        },
      })
      const job = await daemon.begin({ kind: 'slow', target: {}, data: { secret: 1 }, total: 2 }, BY)
      await until(async () => (await daemon.show(job.id)).done === 1, 'the first step')
      assert.partialDeepStrictEqual(await daemon.service.cancel({ id: job.id }), {
        state: 'cancelled',
        done: 1,
      })
      secondStep.resolve()
      await daemon.stop()
      const shown = await daemon.show(job.id)
      assert.partialDeepStrictEqual(shown, { state: 'cancelled', done: 1 })
      assert.doesNotMatch(JSON.stringify(await store.kv.get(`long-job:${job.id}`)), /secret/)
    })
  })
}
