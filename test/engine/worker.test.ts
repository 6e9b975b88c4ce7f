import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { ClaimedJob, NewJob, Store } from '../../src/core/store.ts'
import type { RunOutcome } from '../../src/engine/attempts.ts'
import type { Pumped } from '../../src/engine/pump.ts'
import { createWorker } from '../../src/engine/worker.ts'
import type { WorkerOptions } from '../../src/engine/worker-options.ts'
import { pause } from '../../src/lib/pause.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { begin, drained, partsOf, withJobs } from './kit.ts'

const DONE: RunOutcome = { outcome: 'done' }

function work(t: TestContext, store: Store, options: Partial<WorkerOptions> & Pick<WorkerOptions, 'run'>) {
  const defaults = { ...partsOf(store), queue: 'q' }
  return begin(t, createWorker({ ...defaults, ...options }))
}

const job = (id: string, parts: Partial<NewJob> = {}): NewJob => ({ id, lane: id, group: 'g', ...parts })

/** Runs that a test ends by hand, and those that are under way. */
function heldRuns() {
  const held = new Map<string, PromiseWithResolvers<void>>()
  const seen: string[] = []
  return {
    seen,
    under: () => [...held.keys()].toSorted(),
    release: (...ids: string[]) => {
      for (const id of ids) held.get(id)?.resolve()
    },
    async run(one: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> {
      seen.push(one.id)
      const gate = Promise.withResolvers<void>()
      held.set(one.id, gate)
      signal.addEventListener('abort', () => gate.reject(signal.reason))
      try {
        await gate.promise
        return DONE
      } finally {
        held.delete(one.id)
      }
    },
  }
}

/** Resolves once a number has stood for a while. */
async function calm(count: () => number) {
  for (let last = -1, looks = 0; looks < 10; last = count()) {
    looks = count() === last ? looks + 1 : 0
    await pause(10)
  }
}

describe('a worker', () => {
  test('keeps to the limit of a group, lets other groups pass, and does not spin meanwhile', async (t) => {
    const real = await openStore(t)
    const runs = heldRuns()
    let claims = 0
    const store = withJobs(real, {
      claim(...args) {
        claims++
        return real.jobs.claim(...args)
      },
    })
    const slow = ['s1', 's2', 's3'].map((id) => job(id, { group: 'slow' }))
    await store.jobs.add('q', [...slow, job('f1', { group: 'fast' })])
    work(t, store, { run: runs.run, limits: () => new Map([['slow', 1]]) })
    await until(() => runs.under().length === 2, 'one of each group')
    assert.deepEqual(runs.under(), ['f1', 's1'])
    const before = claims
    let looks = 0
    await until(() => ++looks > 10, 'a while')
    assert.ok(claims - before <= 2, `${claims - before} claims while nothing could be claimed`)
    runs.release('s1')
    await until(() => runs.under().includes('s2'), 'the next of the group')
    runs.release('f1', 's2')
    await until(() => runs.under().includes('s3'), 'the last of the group')
    runs.release('s3')
  })

  test('runs jobs that take no place while all places are taken, up to their own limit', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    const held = ['s1', 's2'].map((id) => job(id, { group: 'slow' }))
    const light = ['l1', 'l2', 'l3'].map((id) => job(id, { group: 'light' }))
    await store.jobs.add('q', [...held, job('again', { group: '' })])
    const limits = () => new Map(Object.entries({ slow: 9, light: 2 }))
    work(t, store, { run: runs.run, concurrency: 1, limits, withoutSlot: () => new Set(['light']) })
    await until(() => runs.under().length === 1, 'the only place is taken')
    await store.jobs.add('q', light)
    await until(() => runs.under().length === 3, 'two that take none')
    assert.deepEqual(runs.under(), ['l1', 'l2', 's1'])
    runs.release('l1')
    await until(() => runs.under().includes('l3'), 'the next of them')
    assert.ok(!runs.seen.includes('s2') && !runs.seen.includes('again'))
    runs.release('s1')
    await until(() => runs.seen.length === 5, 'the place is given to the next')
    runs.release('l2', 'l3', 's2', 'again')
    await until(() => runs.seen.length === 6, 'all')
    runs.release('s2', 'again')
  })

  test('claims nothing when a job ends behind which nothing waits, and the next of a lane at once', async (t) => {
    const real = await openStore(t)
    const runs = heldRuns()
    let [claims, settled] = [0, 0]
    const store = withJobs(real, {
      claim(...args) {
        claims++
        return real.jobs.claim(...args)
      },
    })
    work(t, store, { run: runs.run, limits: () => new Map([['g', 9]]), settled: () => settled++ })
    await store.jobs.add('q', [job('a'), job('b', { lane: 'l' }), job('c', { lane: 'l' })])
    await until(() => runs.under().length === 2, 'the heads of both lanes')
    await calm(() => claims)
    const before = claims
    runs.release('a')
    await until(() => settled === 1, 'the end of the first')
    await calm(() => claims)
    assert.equal(claims, before)
    runs.release('b')
    await until(() => runs.under().includes('c'), 'the next of its lane')
    runs.release('c')
  })

  test('gives no place to a job of which the work goes on elsewhere', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    await store.jobs.add('q', [job('a', { group: 'away' }), job('b', { group: 'away' }), job('here')])
    work(t, store, { run: runs.run, concurrency: 1, runsElsewhere: ({ group }) => group === 'away' })
    await until(() => runs.under().length === 3, 'all of them')
    runs.release('a', 'b', 'here')
  })

  test('asks for more whenever nothing is left to claim, and at no other time', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    let batches = 0
    const refill = async (): Promise<Pumped> => {
      if (batches === 2) return 'nothing'
      batches += 1
      await store.jobs.add(
        'q',
        [1, 2].map((n) => job(`${batches}${n}`)),
      )
      return 'jobs'
    }
    work(t, store, { run: runs.run, concurrency: 2, refill })
    await until(() => runs.under().length === 2, 'the first batch')
    assert.equal(batches, 1)
    runs.release('11', '12')
    await until(() => runs.seen.length === 4, 'the second batch')
    assert.deepEqual([runs.seen, batches], [['11', '12', '21', '22'], 2])
    runs.release('21', '22')
    await drained(store, 'q')
  })

  test('renews its claims, so that a long job is not given to another worker', async (t) => {
    const real = await openStore(t)
    const runs = heldRuns()
    let renewals = 0
    const store = withJobs(real, {
      renew(...args) {
        renewals++
        return real.jobs.renew(...args)
      },
    })
    await store.jobs.add('q', [job('long')])
    work(t, store, { run: runs.run, lease: 2_000 })
    await until(() => renewals >= 4, 'more than a whole lease')
    assert.deepEqual(runs.seen, ['long'])
    runs.release('long')
    await drained(store, 'q')
  })

  test('aborts a job whose claim is lost', async (t) => {
    const store = withJobs(await openStore(t), {
      renew: async (_queue, claims) => claims.map(() => false),
    })
    const lost = Promise.withResolvers<unknown>()
    await store.jobs.add('q', [job('lost')])
    work(t, store, {
      lease: 90,
      async run(_job, signal) {
        signal.addEventListener('abort', () => lost.resolve(signal.reason))
        await lost.promise
        return DONE
      },
    })
    assert.match(String(await lost.promise), /claim expired/)
  })

  test('forgets no job that comes out of a claim while it stops', async (t) => {
    const real = await openStore(t)
    const claiming = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const store = withJobs(real, {
      async claim(...args) {
        claiming.resolve()
        await go.promise
        return real.jobs.claim(...args)
      },
    })
    await store.jobs.add('q', [job('a')])
    const worker = work(t, store, { run: async () => DONE })
    await claiming.promise
    const stopped = worker.stop(1000)
    go.resolve()
    await stopped
    assert.deepEqual((await store.stats()).jobs, [{ queue: 'q', waiting: 0, running: 0, dead: 0 }])
  })

  test('ends a job that keeps failing in a way that nothing foresaw, instead of trying for ever', async (t) => {
    const store = await openStore(t)
    await store.jobs.add('q', [job('bad')])
    const error = { at: 0, code: 'x', message: 'x' }
    for (let attempt = 0; attempt < 9; attempt++) {
      const { items: jobs } = await store.jobs.claim('q', { max: 1, lease: 1000 })
      await store.jobs.settle(
        'q',
        jobs.map(({ id, token }) => ({ id, token, outcome: 'retry', delay: 0, error })),
      )
    }
    work(t, store, { run: () => Promise.reject(new TypeError('a bug')) })
    const letter = await until(() => store.jobs.deadLetters.get('bad'), 'the dead letter')
    assert.match(letter.errors.at(-1)?.message ?? '', /a bug/)
  })

  test('goes on once the store is back, without a signal, and runs no job twice for an outcome it could not store', async (t) => {
    const real = await openStore(t)
    const failures = ['claim', 'settle']
    const failOnce = (name: string) => {
      if (failures[0] === name)
        throw new TriviumError('store_unavailable', { store: String(failures.shift()), reason: 'r' })
    }
    const store: Store = {
      ...withJobs(real, {
        claim: async (...args) => failOnce('claim') ?? real.jobs.claim(...args),
        settle: async (...args) => failOnce('settle') ?? real.jobs.settle(...args),
      }),
      onSignal: () => () => {},
    }
    await store.jobs.add('q', [job('a')])
    const seen: string[] = []
    work(t, store, {
      async run({ id }) {
        seen.push(id)
        return DONE
      },
    })
    await drained(store, 'q')
    assert.deepEqual([seen, failures], [['a'], []])
  })
})
