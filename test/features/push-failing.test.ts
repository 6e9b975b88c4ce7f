import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { TriviumError } from '../../src/core/errors.ts'
import { objectsIn } from '../../src/core/json.ts'
import type { Store } from '../../src/core/store.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { callOf } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { type Respond, startReceiver } from './push-receiver.ts'

setFlagsFromString('--expose_gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Publishes an event of a conversation of its own. */
const emitAlone = (store: Store, n: number) => emit(store, { n, conversation: `c${n}` })

/** The setting `retry` of a subscription whose pauses are all `delay` ms. */
const retryEvery = (delay: number) => ({ retry: { attempts: 99, delay, 'max-delay': delay } })

describe('a push subscription whose receiver fails', { concurrency: 4 }, () => {
  test('makes an event a dead letter after its last attempt, goes on, and sends it when retried', async (t) => {
    const store = await openStore(t)
    let isBroken = true
    const { ns, url, wait } = await startReceiver(t, (response, { n }) =>
      response.writeHead(isBroken && n === 1 ? 422 : 200).end('no such order'),
    )
    await startPush(t, store, [subscription(url)])
    for (const n of [1, 2]) await emit(store, { n, conversation: 'c' })
    await wait(5)
    assert.deepEqual(ns(), [1, 1, 1, 1, 2])
    const [letter] = (await store.jobs.deadLetters.list({ queue: 'push/crm', limit: 5 })).items
    assert.ok(letter)
    assert.partialDeepStrictEqual(letter, { group: 'crm', reason: 'attempts' })
    assert.equal(letter.errors.at(-1)?.code, 'push_failed')
    isBroken = false
    await store.jobs.deadLetters.retry(letter.id)
    await wait(6)
    assert.equal(ns()[5], 1)
  })

  for (const [format, retryAfter] of [
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ] as const) {
    test(`waits as long as Retry-After says in ${format}, also with other conversations`, async (t) => {
      const store = await openStore(t)
      const times: number[] = []
      const { url, wait } = await startReceiver(t, (response, _, count) => {
        times.push(Date.now())
        if (count === 1) response.setHeader('retry-after', retryAfter())
        response.writeHead(count === 1 ? 429 : 200).end()
      })
      await startPush(t, store, [subscription(url)])
      await emit(store, { n: 1 })
      await wait(1)
      await emit(store, { n: 2, conversation: 'other' })
      await wait(3)
      const [first = 0, second = 0] = times
      // A date has no milliseconds.
      assert.ok(second - first >= 900, `${second - first} ms`)
    })
  }

  test('keeps waiting for Retry-After although an earlier request succeeds meanwhile', async (t) => {
    const store = await openStore(t)
    let firstResponse: ServerResponse | undefined
    const { ns, url, wait } = await startReceiver(t, (response, { n }) => {
      if (n === 1) firstResponse = response
      else if (n === 2) response.writeHead(429, { 'retry-after': '3600' }).end()
      else response.end()
    })
    const other = await startReceiver(t)
    const { outcomes, failure } = await startPush(t, store, [
      subscription(url),
      subscription(other.url, { name: 'other' }),
    ])
    await emitAlone(store, 1)
    await wait(1)
    await emitAlone(store, 2)
    await failure()
    firstResponse?.end()
    await until(() => outcomes.includes('sent'), 'the other event')
    for (const n of [3, 4]) {
      await emitAlone(store, n)
      await other.wait(n)
    }
    assert.deepEqual(ns(), [1, 2])
  })

  test('keeps waiting for Retry-After over a restart, but not with another receiver', async (t) => {
    const store = await openStore(t)
    const { got, url } = await startReceiver(t, (response) =>
      response.writeHead(429, { 'retry-after': '3600' }).end(),
    )
    const first = await startPush(t, store, [subscription(url, retryEvery(5))])
    await emit(store, { n: 1 })
    await first.failure()
    const { nextAt } = await first.show()
    await first.stop(1000)
    const other = await startReceiver(t)
    const second = await startPush(
      t,
      store,
      [subscription(url, retryEvery(5)), subscription(other.url, { name: 'other' })],
      { owner: 'b' },
    )
    for (const n of [2, 3]) {
      await emitAlone(store, n)
      await other.wait(n - 1)
    }
    assert.equal(got.length, 1)
    assert.equal((await second.show()).nextAt, nextAt)
    await second.stop(1000)
    assert.equal((await second.show()).nextAt, nextAt)
    const replacement = await startReceiver(t)
    await startPush(t, store, [subscription(replacement.url, retryEvery(5))], { owner: 'c' })
    await replacement.wait(1)
  })

  test('continues if the pause of Retry-After ends during an acknowledgement', async (t) => {
    const store = await openStore(t)
    const clock = { ahead: 0 }
    const topics: Store['topics'] = {
      ...store.topics,
      async ack(...args) {
        const count = await store.topics.ack(...args)
        clock.ahead = MINUTE
        return count
      },
    }
    const { ns, url, wait } = await startReceiver(t, (response, _, count) => {
      if (count === 1) response.setHeader('retry-after', '60')
      response.writeHead(count === 1 ? 429 : 200).end()
    })
    const now = () => Date.now() + clock.ahead
    await startPush(t, { ...store, topics }, [subscription(url)], { now })
    await emit(store, { n: 1 })
    await wait(2)
    assert.deepEqual(ns(), [1, 1])
  })

  test('continues even if the pause of Retry-After ends between two reads of the clock', async (t) => {
    for (let reads = 1; reads <= 20; reads++) {
      const store = await openStore(t)
      let readsLeft = Number.POSITIVE_INFINITY
      const now = () => Date.now() + (readsLeft-- > 0 ? 0 : 1_000)
      const { ns, url } = await startReceiver(t, (response, _, count) => {
        if (count === 1) readsLeft = reads
        response.writeHead(count === 1 ? 429 : 200, { 'retry-after': '1' }).end()
      })
      await startPush(t, store, [subscription(url)], { now })
      await emit(store, { n: 1 })
      await until(() => ns().length === 2, `another attempt, after ${reads} reads of the clock`)
    }
  })

  test('starts no step while a read of the previous, failed step is still running', async (t) => {
    const store = await openStore(t)
    const { got, ns, url } = await startReceiver(t)
    let acks = 0
    const { promise: slowReadEnded, resolve: endSlowRead } = Promise.withResolvers<void>()
    const topics: Store['topics'] = {
      ...store.topics,
      async ack(...args) {
        if (++acks > 2) return store.topics.ack(...args)
        if (acks === 1) await emit(store, { n: 2 })
        throw new TriviumError('store_unavailable', { store: 's', reason: 'it takes no writes' })
      },
      async read(topic, requests) {
        const batches = await store.topics.read(topic, requests)
        if (acks !== 2) return batches
        // Longer than a loop pauses after a failure.
        await setTimeout(1_300)
        endSlowRead()
        return batches
      },
    }
    const { show } = await startPush(t, { ...store, topics }, [subscription(url)])
    await emit(store, { n: 1 })
    await until(async () => got.length >= 2 && (await show()).waiting === 0, 'both events')
    await slowReadEnded
    await emit(store, { n: 3 })
    await until(() => ns().includes(3), 'the third event')
    assert.deepEqual(ns(), [1, 2, 3])
  })

  test('is disabled by 410, and sends what waits once it is resumed', async (t) => {
    const store = await openStore(t)
    let isGone = true
    const { ns, url, wait } = await startReceiver(t, (response) =>
      response.writeHead(isGone ? 410 : 200).end(),
    )
    const { service, show } = await startPush(t, store, [subscription(url)])
    const emitNext = (n: number) => emit(store, { n, conversation: 'c' })
    await emitNext(1)
    await wait(1)
    await until(async () => (await show()).state === 'disabled', 'a disabled subscription')
    for (const n of [2, 3]) await emitNext(n)
    assert.partialDeepStrictEqual(await show(), { ok: false, waiting: 3, dead: 0 })
    isGone = false
    await service.resume({ name: 'crm' })
    await wait(4)
    assert.deepEqual(ns(), [1, 1, 2, 3])
  })

  test('refuses to be tried, because a pause and a 410 end only when it is resumed', async (t) => {
    const store = await openStore(t)
    const { url, wait } = await startReceiver(t, (response) => response.writeHead(410).end())
    const { service, show } = await startPush(t, store, [subscription(url)])
    const isRefused = (state: string) =>
      assert.rejects(service.retry({ name: 'crm' }), (error: Error) => error.message.includes(`is ${state},`))
    await service.pause({ name: 'crm' }, callOf({ caller: { kind: 'cli' } }))
    await isRefused('paused')
    await service.resume({ name: 'crm' })
    await emit(store, { n: 1 })
    await wait(1)
    await until(async () => (await show()).state === 'disabled', 'a disabled subscription')
    await isRefused('disabled')
  })

  test('continues by itself after a pause with an end, whose reason it shows', async (t) => {
    const store = await openStore(t)
    const { url, wait } = await startReceiver(t, (response) => response.writeHead(200).end())
    const { service, show } = await startPush(t, store, [subscription(url)])
    const call = callOf({ caller: { kind: 'cli' } })
    const { changes } = await service.pause({ name: 'crm', for: 5_000, reason: 'a migration' }, call)
    assert.deepEqual([changes.pause.before, changes.pause.after?.reason], [null, 'a migration'])
    await emit(store, { n: 1 })
    const { state, paused, detail } = await show()
    assert.deepEqual([state, paused.reason], ['paused', 'a migration'])
    assert.match(detail, /^by .* until \d{4}-.* UTC: a migration$/)
    await wait(1)
    await until(async () => (await show()).state === 'active', 'the end of the pause')
  })

  test('tries failed events now when it is told to', async (t) => {
    const store = await openStore(t)
    const { url, wait } = await startReceiver(t, (response, _, count) =>
      response.writeHead(count === 1 ? 503 : 200).end(),
    )
    const retry = { attempts: 4, delay: '1h', 'max-delay': '1h' }
    const { service, show } = await startPush(t, store, [subscription(url, { retry })])
    await emit(store, { n: 1 })
    await until(async () => (await show()).nextAt > Date.now() + MINUTE, 'the wait for the next attempt')
    await service.retry({ name: 'crm' })
    await wait(2)
  })

  test('stays paused if its receiver answers 410 during the pause', async (t) => {
    const store = await openStore(t)
    let pausing: Promise<unknown> | undefined
    const kv: Store['kv'] = {
      ...store.kv,
      async set(key, value, options) {
        // Just before the daemon disables the subscription.
        if (Object(value).stopped?.why === 'gone' && !pausing) {
          pausing = service.pause({ name: 'crm' }, callOf({ caller: { kind: 'cli' } }))
          await pausing
        }
        return store.kv.set(key, value, options)
      },
    }
    const { url, wait } = await startReceiver(t, (response) => response.writeHead(410).end())
    const { service, show } = await startPush(t, { ...store, kv }, [subscription(url)])
    await emit(store, { n: 1 })
    await until(async () => (await show()).attempts.length === 1, 'the answer')
    await until(() => pausing, 'the pause')
    assert.equal((await show()).state, 'paused')
    await service.resume({ name: 'crm' })
    await wait(2)
    await until(async () => (await show()).state === 'disabled', 'a disabled subscription')
  })

  test('tries only one event after many failures, while the others wait in the group', async (t) => {
    const store = await openStore(t)
    let isWell = false
    let failures = Number.POSITIVE_INFINITY
    let probe: ServerResponse | undefined
    const { got, url } = await startReceiver(t, (response, _, count) => {
      if (isWell) response.end()
      else if (count <= failures) response.writeHead(503).end()
      else probe = response
    })
    const { show } = await startPush(t, store, [subscription(url, { concurrency: 4, ...retryEvery(5) })])
    for (let n = 0; n < 6; n++) await emitAlone(store, n)
    await until(async () => (await show()).state === 'failing', 'an open circuit')
    failures = got.length
    // Five failures open the circuit. Up to four attempts are under way then, and a few about to
    // begin.
    assert.ok(failures <= 12, `${failures} attempts`)
    await until(() => probe, 'the one event that is tried')
    for (let n = 6; n < 30; n++) await emitAlone(store, n)
    await until(async () => (await show()).waiting === 30, 'all events waiting')
    assert.equal(got.length, failures + 1)
    const [jobs] = (await store.stats()).jobs
    assert.ok(jobs && jobs.waiting + jobs.running <= 5, 'only the events that failed have left the group')
    const { queued, unread } = await show()
    assert.deepEqual([queued, unread], [jobs.waiting + jobs.running, 30 - queued])
    const later = objectsIn((await show()).attempts).filter(({ nextAt }) => nextAt !== undefined)
    assert.ok(later.length > 0 && later.every(({ held }) => held === 'failing'), 'the receiver comes first')
    isWell = true
    probe?.end()
    await until(() => new Set(got.slice(failures).map(({ n }) => n)).size === 30, 'all events')
  })

  test('tries other events if the receiver rejects every event that is left for retry', async (t) => {
    const store = await openStore(t)
    const clock = { ahead: 0 }
    const rejectFirstTwo: Respond = (response, { n }) => response.writeHead(Number(n) < 3 ? 422 : 200).end()
    const { ns, url } = await startReceiver(t, rejectFirstTwo, { verifies: false })
    const subscriptions = [subscription(url, retryEvery(300))]
    const first = await startPush(t, store, subscriptions)
    await emitAlone(store, 1)
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    const now = () => Date.now() + clock.ahead
    const { outcomes, show } = await startPush(t, store, subscriptions, { owner: 'b', now })
    await until(async () => (await show()).state === 'failing', 'an open circuit')
    // After each pause, one more event joins those that are tried in turn. The third is the last of
    // three and may come a pause later.
    for (let n = 2; n < 12 && !ns().includes(3); n++) {
      const before = outcomes.length
      // Longer than the longest pause.
      clock.ahead += 400_000
      await emit(store, { n: Math.min(n, 3), conversation: `c${n}` })
      await until(() => outcomes.length > before, 'an answered attempt')
    }
    assert.ok(ns().includes(3), 'the event that the receiver takes')
  })

  for (const [wait, headers] of [
    ['the old receiver asked for a pause', { 'retry-after': '3600' }],
    ['the next attempt of the event is an hour away', {}],
  ] as const) {
    test(`tries immediately with changed settings, although ${wait}`, async (t) => {
      const store = await openStore(t)
      const old = await startReceiver(t, (response) => response.writeHead(503, headers).end())
      const replacement = await startReceiver(t)
      const { use, failure } = await startPush(t, store, [subscription(old.url, retryEvery(HOUR))])
      await emit(store, { n: 1 })
      await failure()
      await use([subscription(replacement.url, retryEvery(HOUR))])
      await replacement.wait(1)
    })
  }

  for (const { kind, place, open } of storeKinds()) {
    test(`is tried immediately when resumed, and fails until an attempt succeeds (${kind})`, async (t) => {
      const store = await open(t, await place(t))
      let isWell = false
      const { got, url } = await startReceiver(t, (response) => response.writeHead(isWell ? 200 : 503).end())
      const { service, show } = await startPush(t, store, [subscription(url, retryEvery(HOUR))])
      for (let n = 1; n <= 5; n++) await emitAlone(store, n)
      await until(async () => (await show()).state === 'failing', 'an open circuit')
      const { nextAt, attempts } = await show()
      assert.ok(nextAt > attempts[0].at, `the next attempt at ${nextAt}`)
      await service.resume({ name: 'crm' })
      await until(async () => (await show()).attempts.length > attempts.length, 'another attempt')
      assert.partialDeepStrictEqual(await show(), { ok: false, state: 'failing', waiting: 5 })
      assert.equal(got.length, 6, 'a single event is tried')
      isWell = true
      await service.resume({ name: 'crm' })
      await until(async () => (await show()).state === 'active' && (await show()).waiting === 0, 'all events')
      assert.equal((await show()).nextAt, undefined)
      assert.equal(got.length, 11)
    })
  }

  test('gives each request on a connection a timeout of its own', async (t) => {
    const store = await openStore(t)
    const { ns, url, wait } = await startReceiver(t, (response, { n }, count) => {
      if (n !== 2 || count > 3) response.writeHead(204).end()
    })
    const settings = { timeout: 500, concurrency: 1, ...retryEvery(10) }
    const { show } = await startPush(t, store, [subscription(url, settings)])
    for (const n of [1, 2, 3]) await emit(store, { n, conversation: 'c' })
    await wait(5)
    assert.deepEqual([...new Set(ns())], [1, 2, 3])
    const isTimeout = ({ reason }: { reason?: string }) => reason === 'no answer within 500 ms'
    await until(async () => (await show()).attempts.some(isTimeout), 'the timeout')
  })

  test('gives the timeout or the unknown host as the reason of a failed attempt', async (t) => {
    const store = await openStore(t)
    const silent = await startReceiver(t, () => {})
    const { failure } = await startPush(t, store, [
      subscription(silent.url, { timeout: 500 }),
      subscription('http://nobody.invalid/', { name: 'unknown' }),
    ])
    await emit(store)
    assert.equal(await failure(), 'no answer within 500 ms')
    assert.match(await failure('unknown'), /nobody\.invalid/)
  })
})

/** Not beside other tests, since it measures the heap. */
describe('a push subscription with many conversations', () => {
  test('keeps none of the past ones in memory while an event waits for its retry', async (t) => {
    const nameSize = 20_000
    const store = await openStore(t)
    const { got, url } = await startReceiver(t, (response, { n }) =>
      response.writeHead(n === 0 ? 422 : 200).end(),
    )
    const subscriptions = [subscription(url, retryEvery(MINUTE))]
    const first = await startPush(t, store, subscriptions)
    await emit(store, { n: 0 })
    await until(() => first.outcomes.includes('retry'), 'a failure')
    await first.stop(1000)
    const { show } = await startPush(t, store, subscriptions, { owner: 'b' })
    const heapAfter = async (count: number) => {
      for (let n = 0; n < count; n++) {
        await emit(store, { n: 1, conversation: `${got.length} ${n} `.padEnd(nameSize, '-') })
      }
      await until(async () => (await show()).waiting === 1, 'an empty group')
      got.length = 1
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = await heapAfter(100)
    const growth = (await heapAfter(2_000)) - before
    // If it kept the names, the heap would grow by 2,000 of them.
    assert.ok(growth < 1_300 * nameSize, `${growth} bytes`)
  })
})
