import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { callOf } from '../engine/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'

const OPERATOR = callOf({ caller: { kind: 'cli', id: 'ada@host' } })

/**
 * A receiver that answers with `status.now`, and keeps the ids of the events that it got. While the
 * status is 0, the answers wait for `status.answer`.
 */
async function startReceiver(t: TestContext) {
  const got: string[] = []
  const waiting: (() => void)[] = []
  const status = {
    now: 200,
    answer() {
      for (const answer of waiting.splice(0)) answer()
    },
  }
  const { url, close } = await serveHttp((request, response) => {
    got.push(String(request.headers['webhook-id']))
    const answer = () => void response.writeHead(status.now).end()
    if (status.now === 0) waiting.push(answer)
    else answer()
  })
  cleanup(t, close)
  return { got, status, url }
}

/** A daemon that pushes the topic `orders`, and the ways to redeliver all its events. */
async function startDaemon(t: TestContext, store: Store, url: string) {
  const retry = { attempts: 9, delay: 5, 'max-delay': 10 }
  const { work, replay, service, show } = await startPush(t, store, [subscription(url, { retry })])
  const untilDone = (id: string) =>
    until(async () => (await work.service.show({ id })).state === 'done', 'the end of the replay')
  return {
    redeliver: {
      async 'event-replay'() {
        await untilDone((await replay.begin({ topic: 'orders', group: 'crm', range: {} }, OPERATOR)).id)
      },
      async 'subscription-replay'() {
        const { job } = await service.replay({ name: 'crm', dryRun: false }, OPERATOR)
        await untilDone(job?.id ?? '')
      },
      async 'event-seek'() {
        await store.topics.seek('orders', 'crm', 'start')
      },
    },
    untilIdle: () => until(async () => (await show()).waiting === 0, 'an empty group'),
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`events that an operator redelivers to a push subscription, on the ${kind} store`, () => {
    for (const skill of ['event-replay', 'subscription-replay', 'event-seek'] as const) {
      test(`are pushed until they arrive, also if they had been retried before (${skill})`, async (t) => {
        const store = await open(t, await place(t))
        const { got, status, url } = await startReceiver(t)
        const daemon = await startDaemon(t, store, url)
        const id = await emit(store)
        for (let round = 1; round <= 3; round++) {
          status.now = 503
          if (round > 1) await daemon.redeliver[skill]()
          await until(() => got.length >= 2, `two attempts in round ${round}`)
          status.now = 200
          const before = got.length
          await until(() => got.length > before, `the push in round ${round}`)
          await daemon.untilIdle()
          assert.deepEqual(new Set(got.splice(0)), new Set([id]))
        }
      })
    }

    test('are counted before: those of the range that were delivered, and those that wait', async (t) => {
      const store = await open(t, await place(t))
      const { got, status, url } = await startReceiver(t)
      const retry = { attempts: 9, delay: 3_600_000, 'max-delay': 3_600_000 }
      const { service, show } = await startPush(t, store, [subscription(url, { retry })])
      const first = await emit(store)
      await until(() => got.includes(first), 'the delivery')
      status.now = 503
      const second = await emit(store)
      await until(async () => (await show()).queued === 1, 'the job')
      await until(async () => (await show()).unread === 0, 'the acknowledgements')
      const count = (range: object) => service.replay({ name: 'crm', dryRun: true, ...range }, OPERATOR)
      const counts = { redelivered: 1, unread: 0, queued: 1, dead: 0, delivered: 1, dryRun: true }
      assert.partialDeepStrictEqual(await count({}), counts)
      assert.partialDeepStrictEqual(await count({ to: first }), { redelivered: 1, queued: 0, delivered: 1 })
      assert.partialDeepStrictEqual(await count({ from: second }), {
        redelivered: 0,
        queued: 1,
        delivered: 0,
      })
    })

    test('are counted before: those that are older than the push were not delivered', async (t) => {
      const store = await open(t, await place(t))
      const { got, url } = await startReceiver(t)
      const later = (time = Date.now()) => until(() => Date.now() > time + 1, 'a later time')
      await emit(store)
      await later()
      const second = await emit(store)
      await later()
      const { service } = await startPush(t, store, [subscription(url)])
      const first = await emit(store)
      await until(() => got.includes(first), 'the delivery')
      const count = (range: object) => service.replay({ name: 'crm', dryRun: true, ...range }, OPERATOR)
      await until(async () => Object(await count({})).redelivered === 3, 'the acknowledgement')
      assert.partialDeepStrictEqual(await count({}), { older: 2, delivered: 1 })
      assert.partialDeepStrictEqual(await count({ from: first }), { redelivered: 1, older: 0, delivered: 1 })
      await service.replay({ name: 'crm', dryRun: false, from: second }, OPERATOR)
      await until(() => got.length === 3, 'the replayed events')
      await until(async () => Object(await count({})).redelivered === 3, 'the acknowledgements')
      assert.partialDeepStrictEqual(await count({}), { older: 1, delivered: 2 })
    })

    test('are counted before: those that cancelled replays withdrew were not delivered', async (t) => {
      const store = await open(t, await place(t))
      const { got, url } = await startReceiver(t)
      const later = (time = Date.now()) => until(() => Date.now() > time + 1, 'a later time')
      for (let n = 0; n < 2; n++) {
        await emit(store)
        await later()
      }
      const { service, work } = await startPush(t, store, [subscription(url)])
      const own = await emit(store)
      await until(() => got.includes(own), 'the delivery')
      const count = (range: object) => service.replay({ name: 'crm', dryRun: true, ...range }, OPERATOR)
      await until(async () => Object(await count({})).redelivered === 3, 'the acknowledgement')
      await service.pause({ name: 'crm' }, OPERATOR)
      const { job } = await service.replay({ name: 'crm', dryRun: false }, OPERATOR)
      const id = job?.id ?? ''
      await until(async () => (await work.service.show({ id })).state === 'done', 'the end of the queueing')
      const { result } = await work.service.cancel({ id }, OPERATOR)
      assert.partialDeepStrictEqual(result, { withdrawn: 3 })
      const counts = { redelivered: 3, older: 2, delivered: 1 }
      assert.partialDeepStrictEqual(await count({}), counts)
      assert.partialDeepStrictEqual(await count({ withdrawn: id }), counts)
    })

    test('are left out if they wait for an attempt already, or are sent for the first time', async (t) => {
      const store = await open(t, await place(t))
      const { got, status, url } = await startReceiver(t)
      const retry = { attempts: 9, delay: 3_600_000, 'max-delay': 3_600_000 }
      const { service, show, work } = await startPush(t, store, [subscription(url, { retry })])
      const first = await emit(store, { conversation: 'a' })
      await until(() => got.includes(first), 'the delivery')
      status.now = 503
      const queued = await emit(store, { conversation: 'b' })
      await until(async () => (await show()).queued === 1, 'the job')
      await until(async () => (await show()).unread === 0, 'the acknowledgements')
      status.now = 0
      const unread = await emit(store, { conversation: 'c' })
      await until(() => got.includes(unread), 'a request without an answer')
      const { job } = await service.replay({ name: 'crm', dryRun: false }, OPERATOR)
      const done = await until(async () => {
        const { state, result } = await work.service.show({ id: job?.id ?? '' })
        return state === 'done' ? result : undefined
      }, 'the end of the replay')
      assert.deepEqual(done, { events: 1, unread: 1, queued: 1 })
      status.now = 200
      status.answer()
      await service.retry({ name: 'crm' })
      await until(async () => (await show()).waiting === 0 && got.length >= 5, 'all deliveries')
      assert.deepEqual(got, [first, queued, unread, ...got.slice(3)])
      assert.deepEqual(got.slice(3).toSorted(), [first, queued].toSorted())
    })

    test('wait since the replay, not since their publication', async (t) => {
      const store = await open(t, await place(t))
      const { got, status, url } = await startReceiver(t)
      const retry = { attempts: 9, delay: 60_000, 'max-delay': 60_000 }
      const { replay, show } = await startPush(t, store, [subscription(url, { retry })])
      await emit(store)
      await until(() => got.length === 1, 'the first push')
      const published = Date.now()
      await until(() => Date.now() > published + 5, 'a later time')
      status.now = 503
      const replayedAt = Date.now()
      await replay.begin({ topic: 'orders', group: 'crm', range: {} }, OPERATOR)
      const waits = await until(async () => (await show()).oldestAt, 'the replayed event')
      assert.ok(waits >= replayedAt, `${waits} is before ${replayedAt}`)
      const failed = await until(async () => {
        const { jobs } = await store.stats()
        return jobs.find(({ queue }) => queue === 'push/crm')?.oldestAt
      }, 'the failed attempt')
      assert.ok(failed >= replayedAt, `${failed} is before ${replayedAt}`)
    })

    test('wait since the replay, although older attempts at the same and at other events failed', async (t) => {
      const store = await open(t, await place(t))
      const { got, status, url } = await startReceiver(t)
      const retry = { attempts: 2, delay: 5, 'max-delay': 10 }
      const { use, replay, show } = await startPush(t, store, [subscription(url, { retry })])
      status.now = 503
      await emit(store)
      await until(async () => (await show()).dead === 1, 'a dead letter')
      status.now = 200
      await emit(store)
      await until(() => got.length === 3, 'the push of another event')
      status.now = 503
      await use([subscription(url, { retry: { attempts: 50, delay: 200, 'max-delay': 200 } })])
      const replayedAt = Date.now()
      await replay.begin({ topic: 'orders', group: 'crm', range: {} }, OPERATOR)
      await until(() => got.length === 5, 'attempts at both events')
      const since = await until(async () => (await show()).oldestAt, 'a waiting event')
      assert.ok(since >= replayedAt, `${since} is before ${replayedAt}`)
    })

    test('are pushed again although the first push is acknowledged only after the replay', async (t) => {
      const store = await open(t, await place(t))
      const { got, url } = await startReceiver(t)
      const { promise: firstAck, resolve: acknowledging } = Promise.withResolvers<void>()
      const { promise: mayAcknowledge, resolve: letAcknowledge } = Promise.withResolvers<void>()
      const slow: Store['topics'] = {
        ...store.topics,
        async ack(...args) {
          const [, , ids] = args
          if (ids.length > 0) acknowledging()
          await mayAcknowledge
          return store.topics.ack(...args)
        },
      }
      const daemon = await startDaemon(t, { ...store, topics: slow }, url)
      const id = await emit(store)
      await firstAck
      await daemon.redeliver['subscription-replay']()
      letAcknowledge()
      await until(() => got.length >= 2, 'the second push')
      await daemon.untilIdle()
      assert.deepEqual(got, [id, id])
    })
  })
}
