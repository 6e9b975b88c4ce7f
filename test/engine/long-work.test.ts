import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { HOUR } from '../../src/core/units.ts'
import { createLongWork, type WorkKind } from '../../src/engine/long-work.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

const ADA = { caller: { kind: 'http', id: 'token:ada' } } as const
const BEN = { caller: { kind: 'http', id: 'token:ben' } } as const
const DIG = { kind: 'dig', target: {}, data: null }

/**
 * The long jobs of one daemon, whose jobs of the kind `dig` call `run`. The clock can be moved
 * ahead.
 */
function stage(
  t: TestContext,
  store: Pick<Store, 'kv' | 'leases' | 'onSignal'>,
  run: WorkKind['run'],
  owner = 'a',
) {
  const log = createMemoryLog()
  const clock = { ahead: 0 }
  const work = createLongWork({ store, owner, log, now: () => Date.now() + clock.ahead })
  work.offer({ kind: 'dig', run })
  cleanup(t, () => work.stop())
  const stateOf = async (id: string) => (await work.service.show({ id })).state
  return { work, log, clock, stateOf }
}

/** Work that runs until it is aborted. */
const endless: WorkKind['run'] = (_job, { signal }) =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

function errorsIn({ lines }: ReturnType<typeof createMemoryLog>): string[] {
  return lines.flatMap(({ fields }) => ('err' in fields ? [String(fields.err)] : []))
}

for (const { kind, place, open } of storeKinds()) {
  test(`limits the running long jobs of a caller, also if it starts many concurrently, on ${kind}`, async (t) => {
    const { work } = stage(t, await open(t, await place(t)), endless)
    const calls = await Promise.allSettled(Array.from({ length: 60 }, () => work.begin(DIG, ADA)))
    const begun = calls.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []))
    assert.equal(begun.length, 20)
    for (const call of calls) {
      if (call.status === 'fulfilled') continue
      assert.equal(call.reason.code, 'limit_reached')
      assert.match(call.reason.message, /Running jobs of token:ada: the limit is 20\. .*trivium job cancel/)
    }
    await work.begin(DIG, BEN)
    await work.service.cancel({ id: begun[0]?.id ?? '' })
    await work.begin(DIG, ADA)
    await assert.rejects(() => work.begin(DIG, ADA), { code: 'limit_reached' })
  })
}

describe('long work', { concurrency: true }, () => {
  test('keeps the newest 100 jobs of a caller', async (t) => {
    const { work, stateOf } = stage(t, await openStore(t), async () => null)
    const EXTRA = 3
    const ids: string[] = []
    for (let n = 0; n < 100 + EXTRA; n++) {
      const { id } = await work.begin(DIG, ADA)
      ids.push(id)
      await until(async () => (await stateOf(id)) === 'done', 'the end of the job')
    }
    const kept = await work.service.list({ limit: 1000 })
    assert.equal(kept.length, 100)
    assert.ok(kept.every(({ id }) => ids.indexOf(id) >= EXTRA))
  })

  test('a job of another daemon, or one whose withdrawal fails, waits for the next look', async (t) => {
    const store = await openStore(t)
    const asked: number[] = []
    const leases: Store['leases'] = {
      ...store.leases,
      acquire(name, ...of) {
        if (name.startsWith('long-job/')) asked.push(performance.now())
        return store.leases.acquire(name, ...of)
      },
    }
    const pauseOf = async (times: readonly number[]) => {
      await until(() => times.length >= 2, 'the second attempt')
      return Number(times[1]) - Number(times[0])
    }
    const { work } = stage(t, store, endless)
    await work.begin(DIG, ADA)
    const { work: other } = stage(t, { ...store, leases }, endless, 'b')
    other.start()
    assert.ok((await pauseOf(asked)) > 1_000, 'the lease is asked for at each look')
    await other.stop()

    const tried: number[] = []
    work.offer({
      kind: 'dig',
      async run(_job, { save }) {
        for (;;) await save({ done: 1 })
      },
      async withdraw() {
        tried.push(performance.now())
        throw new Error('the disk is full')
      },
    })
    const { id } = await work.begin(DIG, BEN)
    const cancelled = work.service.cancel({ id })
    assert.ok((await pauseOf(tried)) > 1_000, 'the withdrawal is tried at each look')
    await cancelled
  })

  test('lists the jobs that ran in a time', async (t) => {
    const { work, stateOf, clock } = stage(t, await openStore(t), async () => null)
    const begun = Date.now()
    const first = await work.begin(DIG, ADA)
    await until(async () => (await stateOf(first.id)) === 'done', 'the end of the job')
    clock.ahead = HOUR
    const second = await work.begin(DIG, ADA)
    const listed = async (range: object) =>
      (await work.service.list({ ...range, limit: 10 })).map(({ id }) => id)
    assert.deepEqual(await listed({}), [second.id, first.id])
    assert.deepEqual(await listed({ since: begun + HOUR / 2 }), [second.id])
    assert.deepEqual(await listed({ until: begun + HOUR / 2 }), [first.id])
    assert.deepEqual(await listed({ until: begun }), [])
    assert.deepEqual(await listed({ since: first.startedAt, until: begun + HOUR / 2 }), [first.id])
  })

  test('refuses to cancel a job that has ended, and cancels a running one once', async (t) => {
    const { work, stateOf } = stage(t, await openStore(t), async () => null)
    const { id } = await work.begin(DIG, ADA)
    await until(async () => (await stateOf(id)) === 'done', 'the end of the job')
    await assert.rejects(() => work.service.cancel({ id }), { code: 'job_ended', message: /it is done/ })
    assert.equal(await stateOf(id), 'done')
    const { work: other } = stage(t, await openStore(t), endless)
    const running = await other.begin(DIG, ADA)
    assert.equal((await other.service.cancel({ id: running.id })).state, 'cancelled')
    await assert.rejects(() => other.service.cancel({ id: running.id }), { code: 'job_ended' })
  })

  test('keeps what a cancelled job has done, also in the step that ended after that', async (t) => {
    const { work } = stage(t, await openStore(t), endless)
    const reached = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    work.offer({
      kind: 'dig',
      async run(_job, { save }) {
        await save({ data: 3, done: 3 })
        reached.resolve()
        await goOn.promise
        await save({ data: 5, done: 5 }).finally(() => stopped.resolve())
        return null
      },
      soFar: ({ data }) => ({ dug: data }),
    })
    const { id } = await work.begin({ ...DIG, total: 9 }, ADA)
    await reached.promise
    const cancelled = await work.service.cancel({ id })
    assert.deepEqual([cancelled.state, cancelled.result, cancelled.done], ['cancelled', { dug: 3 }, 3])
    goOn.resolve()
    await stopped.promise
    const { state, result, done } = await work.service.show({ id })
    assert.deepEqual([state, result, done], ['cancelled', { dug: 5 }, 5])
  })

  test('keeps what a failed job has done', async (t) => {
    const { work, stateOf } = stage(t, await openStore(t), endless)
    work.offer({
      kind: 'dig',
      async run(_job, { save }) {
        await save({ data: 3 })
        throw new TriviumError('group_not_found', { group: 'g', topic: 't' })
      },
      soFar: ({ data }) => ({ dug: data }),
    })
    const { id } = await work.begin(DIG, ADA)
    await until(async () => (await stateOf(id)) === 'failed', 'the end of the job')
    assert.deepEqual((await work.service.show({ id })).result, { dug: 3 })
  })

  test('continues after an unexpected error, from the state saved last', async (t) => {
    const startedFrom: unknown[] = []
    const { work, stateOf, clock, log } = stage(t, await openStore(t), async ({ data }, { save }) => {
      startedFrom.push(data)
      if (startedFrom.length === 1) {
        await save({ data: 'half' })
        throw new TypeError('socket closed')
      }
      return 'whole'
    })
    const { id } = await work.begin(DIG, ADA)
    const job = await until(async () => {
      const shown = await work.service.show({ id })
      return shown.error && shown
    }, 'a failed attempt')
    assert.equal(job.state, 'running')
    assert.ok((job.retryAt ?? 0) > job.startedAt)
    assert.equal(startedFrom.length, 1)
    clock.ahead = 120_000
    await until(async () => (await stateOf(id)) === 'done', 'the end of the job')
    assert.deepEqual(startedFrom, [null, 'half'])
    assert.deepEqual(errorsIn(log), ['TypeError: socket closed'])
    assert.equal((await work.service.show({ id })).error, undefined)
  })

  test('fails after eight unexpected errors, or after one permanent error', async (t) => {
    let attempts = 0
    const { work, stateOf, clock } = stage(t, await openStore(t), async ({ data }) => {
      attempts++
      throw data === 'final'
        ? new TriviumError('group_not_found', { group: 'g', topic: 't' })
        : new Error('no')
    })
    const { id } = await work.begin(DIG, ADA)
    await until(async () => {
      clock.ahead += 120_000
      return (await stateOf(id)) === 'failed'
    }, 'the end of the job')
    assert.equal(attempts, 8)
    const final = await work.begin({ ...DIG, data: 'final' }, ADA)
    await until(async () => (await stateOf(final.id)) === 'failed', 'the end of the job')
    assert.equal(attempts, 9)
  })

  test('logs that a lease could not be acquired, and acquires it later', async (t) => {
    const store = await openStore(t)
    let failures = 2
    const { leases } = store
    const acquire: typeof leases.acquire = (...args) =>
      failures-- > 0 ? Promise.reject(new Error('leases are unavailable')) : leases.acquire(...args)
    const flaky = { ...store, leases: { ...leases, acquire } }
    const { work, stateOf, log } = stage(t, flaky, async () => 'done')
    const { id } = await work.begin(DIG, ADA)
    await until(async () => (await stateOf(id)) === 'done', 'the end of the job')
    assert.deepEqual(errorsIn(log), ['Error: leases are unavailable', 'Error: leases are unavailable'])
  })

  test('aborts work whose lease could not be renewed before its end', async (t) => {
    const store = await openStore(t)
    let isUnavailable = false
    const { leases } = store
    const acquire: typeof leases.acquire = (...args) =>
      isUnavailable ? Promise.reject(new Error('leases are unavailable')) : leases.acquire(...args)
    const stopped = Promise.withResolvers<void>()
    const { work } = stage(t, { ...store, leases: { ...leases, acquire } }, (job, tools) => {
      isUnavailable = true
      tools.signal.addEventListener('abort', () => stopped.resolve())
      return endless(job, tools)
    })
    await work.begin(DIG, ADA)
    await stopped.promise
  })
})
