import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Json } from '../../src/core/json.ts'
import type { LongJob } from '../../src/core/long-job.ts'
import { timeOf } from '../../src/core/message-id.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork, type WorkKind } from '../../src/engine/long-work.ts'
import { createReplayEvents, type EventRange } from '../../src/engine/replay-events.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })

/** The long work of one daemon. */
function daemonOn(t: TestContext, store: Store, owner: string) {
  const work = createLongWork({ store, owner, log: createMemoryLog(), now: Date.now })
  cleanup(t, () => work.stop())
  const show = (id: string) => work.service.show({ id })
  const ended = (id: string) =>
    until(
      async () => {
        const job = await show(id)
        return job.state === 'running' ? undefined : job
      },
      `the end of ${id}`,
      60_000,
    )
  return { ...work, show, ended, replay: createReplayEvents({ topics: store.topics, work }) }
}

/** A group that has consumed so many events; their ids, oldest first. */
async function consumed(store: Store, topic: string, count: number): Promise<string[]> {
  await store.topics.subscribe(topic, 'analytics', 'start')
  if (topic === MESSAGE_TOPIC)
    for (let n = 0; n < count; n++) await store.journal.accept([newMessage({ text: `m${n}` })])
  else
    for (let n = 0; n < count; n++)
      await store.topics.publish(topic, [{ type: 'order', source: 'test', data: { n } }])
  const events = await read(store, topic)
  assert.equal(events.length, count)
  return events
}

async function read(store: Store, topic: string): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const [batch] = await store.topics.read(topic, [{ group: 'analytics', max: 500, mode: 'consume' }])
    if (!batch?.items.length) return ids
    ids.push(...batch.items.map(({ id }) => id))
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`replay of a range, on the ${kind} store`, () => {
    for (const topic of [MESSAGE_TOPIC, 'orders']) {
      test(`shows a group the events of ${topic} between two ids again, both inside, and no other`, async (t) => {
        const store = await open(t, await place(t))
        const daemon = daemonOn(t, store, 'a')
        const ids = await consumed(store, topic, 12)
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

    test('a range by time takes the start and leaves out the end, and all of a topic without bounds', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await consumed(store, 'orders', 8)
      const times = ids.map(timeOf)
      const [since = 0, end = 0] = [times[2], times[6]]
      const inside = ids.filter((_, at) => (times[at] ?? 0) >= since && (times[at] ?? 0) < end)
      const part = await daemon.replay.begin(
        { topic: 'orders', group: 'analytics', range: { since, until: Math.max(end, since + 1) } },
        BY,
      )
      await daemon.ended(part.id)
      const seen = await read(store, 'orders')
      if (end > since) assert.deepEqual(seen, inside)
      const whole = await daemon.replay.begin({ topic: 'orders', group: 'analytics', range: {} }, BY)
      await daemon.ended(whole.id)
      assert.deepEqual(await read(store, 'orders'), ids)
      const jobs = await daemon.service.list({ kind: 'replay', limit: 10 })
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [whole.id, part.id],
      )
    })

    test('a count says how many events a range has, and when the first and the last one were, without a job', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const ids = await consumed(store, 'orders', 9)
      const times = ids.map(timeOf)
      assert.deepEqual(await daemon.replay.count('orders', { from: ids[2], to: ids[6] }), {
        events: 5,
        firstAt: times[2],
        lastAt: times[6],
      })
      assert.deepEqual(await daemon.replay.count('orders', { since: (times[8] ?? 0) + 1 }), { events: 0 })
      assert.deepEqual(await daemon.replay.count('nothing', {}), { events: 0 })
      await assert.rejects(daemon.replay.count('orders', { since: 5, until: 5 }), /ends before it begins/)
      assert.deepEqual(await daemon.service.list({ limit: 10 }), [])
      assert.deepEqual(await read(store, 'orders'), [])
    })

    test('a group that is not there and a range that ends before it begins are refused', async (t) => {
      const store = await open(t, await place(t))
      const { replay, show } = daemonOn(t, store, 'a')
      const ids = await consumed(store, 'orders', 3)
      await assert.rejects(replay.begin({ topic: 'orders', group: 'nobody', range: {} }, BY), {
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

    test('another daemon goes on where one stopped, from what was saved', async (t) => {
      const at = await place(t)
      const store = await open(t, at)
      const first = daemonOn(t, store, 'a')
      const seen: Json[] = []
      const step = (hangs: boolean): WorkKind => ({
        kind: 'count',
        async run({ data }, { save, signal }) {
          seen.push(data)
          for (let n = Number(data ?? 0); n < 6; n++) {
            if (hangs && n === 3) await new Promise((_, reject) => signal.addEventListener('abort', reject))
            await save({ data: n + 1, done: n + 1 })
          }
          return { counted: 6 }
        },
      })
      first.offer(step(true))
      const job = await first.begin({ kind: 'count', target: {}, data: 0, total: 6 }, BY)
      await until(async () => (await first.show(job.id)).done === 3, 'half of the work')
      await first.stop()
      assert.equal((await first.show(job.id)).state, 'running')
      const second = daemonOn(t, store, 'b')
      second.offer(step(false))
      second.start()
      const done: LongJob = await second.ended(job.id)
      assert.partialDeepStrictEqual(done, { state: 'done', done: 6, result: { counted: 6 } })
      assert.deepEqual(seen, [0, 3])
    })

    test('what may work later is tried again, and what cannot is told as the end', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const away = new TriviumError('store_unavailable', { store: 'x', reason: 'it is away' })
      const outcomes = [away, new TriviumError('group_not_found', { group: 'g', topic: 't' })]
      daemon.offer({ kind: 'unlucky', run: () => Promise.reject(outcomes.shift()) })
      const job = await daemon.begin({ kind: 'unlucky', target: {}, data: null }, BY)
      await until(async () => (await daemon.show(job.id)).error?.code === 'store_unavailable', 'the first')
      const end = await daemon.ended(job.id)
      assert.partialDeepStrictEqual(end, { state: 'failed', error: { code: 'group_not_found' } })
    })

    test('a job that is cancelled ends after its step, and is shown as such', async (t) => {
      const store = await open(t, await place(t))
      const daemon = daemonOn(t, store, 'a')
      const turn = Promise.withResolvers<void>()
      daemon.offer({
        kind: 'slow',
        async run(_, { save }) {
          await save({ done: 1 })
          await turn.promise
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
      turn.resolve()
      await daemon.stop()
      const shown = await daemon.show(job.id)
      assert.partialDeepStrictEqual(shown, { state: 'cancelled', done: 1 })
      assert.doesNotMatch(JSON.stringify(await store.kv.get(`long-job:${job.id}`)), /secret/)
    })
  })
}
