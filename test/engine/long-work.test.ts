import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork, type WorkKind } from '../../src/engine/long-work.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

const ADA = { caller: { kind: 'http', id: 'token:ada' } } as const
const BEN = { caller: { kind: 'http', id: 'token:ben' } } as const
const DIG = { kind: 'dig', target: {}, data: null }

function working(t: TestContext, store: Pick<Store, 'kv' | 'leases' | 'onSignal'>, run: WorkKind['run']) {
  const log = createMemoryLog()
  const clock = { ahead: 0 }
  const work = createLongWork({ store, owner: 'a', log, now: () => Date.now() + clock.ahead })
  work.offer({ kind: 'dig', run })
  cleanup(t, () => work.stop())
  const stateOf = async (id: string) => (await work.service.show({ id })).state
  return { work, log, clock, stateOf }
}

/** Work that goes on until it is stopped. */
const endless: WorkKind['run'] = (_job, { signal }) =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

function errorsIn({ lines }: ReturnType<typeof createMemoryLog>): string[] {
  return lines.flatMap(({ fields }) => ('err' in fields ? [String(fields.err)] : []))
}

for (const { kind, place, open } of storeKinds()) {
  test(`a caller has a bounded number of long jobs, also when it asks for many at once, on ${kind}`, async (t) => {
    const { work } = working(t, await open(t, await place(t)), endless)
    const asked = await Promise.allSettled(Array.from({ length: 60 }, () => work.begin(DIG, ADA)))
    const begun = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    assert.equal(begun.length, 20)
    for (const one of asked) {
      if (one.status === 'fulfilled') continue
      assert.equal(one.reason.code, 'limit_reached')
      assert.match(
        one.reason.message,
        /Running long jobs of token:ada: the limit is 20\. .*trivium job cancel/,
      )
    }
    await work.begin(DIG, BEN)
    await work.service.cancel({ id: begun[0]?.id ?? '' })
    await work.begin(DIG, ADA)
    await assert.rejects(() => work.begin(DIG, ADA), { code: 'limit_reached' })
  })
}

describe('long work', { concurrency: true }, () => {
  test('keeps the newest jobs of a caller, so that what ended costs little', async (t) => {
    const { work, stateOf } = working(t, await openStore(t), async () => null)
    const ids: string[] = []
    for (let n = 0; n < 103; n++) {
      const { id } = await work.begin(DIG, ADA)
      ids.push(id)
      await until(async () => (await stateOf(id)) === 'done', 'the end')
    }
    const kept = await work.service.list({ limit: 1000 })
    assert.equal(kept.length, 100)
    assert.ok(kept.every(({ id }) => ids.indexOf(id) > 2))
  })

  test('goes on after an error that nobody expected, from what was saved last', async (t) => {
    const seen: unknown[] = []
    const { work, stateOf, clock, log } = working(t, await openStore(t), async ({ data }, { save }) => {
      seen.push(data)
      if (seen.length === 1) {
        await save({ data: 'half' })
        throw new TypeError('socket closed')
      }
      return 'whole'
    })
    const { id } = await work.begin(DIG, ADA)
    const job = await until(async () => {
      const found = await work.service.show({ id })
      return found.error && found
    }, 'a failed attempt')
    assert.equal(job.state, 'running')
    assert.ok((job.retryAt ?? 0) > job.startedAt)
    assert.equal(seen.length, 1)
    clock.ahead = 120_000
    await until(async () => (await stateOf(id)) === 'done', 'the end')
    assert.deepEqual(seen, [null, 'half'])
    assert.deepEqual(errorsIn(log), ['TypeError: socket closed'])
    assert.equal((await work.service.show({ id })).error, undefined)
  })

  test('gives up where the same unexpected error comes again and again, and at once where a retry is useless', async (t) => {
    let count = 0
    const { work, stateOf, clock } = working(t, await openStore(t), async ({ data }) => {
      count++
      throw data === 'final'
        ? new TriviumError('group_not_found', { group: 'g', topic: 't' })
        : new Error('no')
    })
    const { id } = await work.begin(DIG, ADA)
    await until(async () => {
      clock.ahead += 120_000
      return (await stateOf(id)) === 'failed'
    }, 'the end')
    assert.equal(count, 8)
    const final = await work.begin({ ...DIG, data: 'final' }, ADA)
    await until(async () => (await stateOf(final.id)) === 'failed', 'the end')
    assert.equal(count, 9)
  })

  test('says that a lease could not be taken, and takes it later', async (t) => {
    const store = await openStore(t)
    let failures = 2
    const { leases } = store
    const acquire: typeof leases.acquire = (...args) =>
      failures-- > 0 ? Promise.reject(new Error('leases are away')) : leases.acquire(...args)
    const flaky = { ...store, leases: { ...leases, acquire } }
    const { work, stateOf, log } = working(t, flaky, async () => 'done')
    const { id } = await work.begin(DIG, ADA)
    await until(async () => (await stateOf(id)) === 'done', 'the end')
    assert.deepEqual(errorsIn(log), ['Error: leases are away', 'Error: leases are away'])
  })

  test('stops where its lease cannot be renewed for as long as it lasts', async (t) => {
    const store = await openStore(t)
    let isAway = false
    const { leases } = store
    const acquire: typeof leases.acquire = (...args) =>
      isAway ? Promise.reject(new Error('leases are away')) : leases.acquire(...args)
    const stopped = Promise.withResolvers<void>()
    const { work } = working(t, { ...store, leases: { ...leases, acquire } }, (job, tools) => {
      isAway = true
      tools.signal.addEventListener('abort', () => stopped.resolve())
      return endless(job, tools)
    })
    await work.begin(DIG, ADA)
    await stopped.promise
  })
})
