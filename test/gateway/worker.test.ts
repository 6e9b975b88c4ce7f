import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ClaimedJob, NewJob, Store } from '../../src/core/store.ts'
import { createWorker, type RunOutcome, type WorkerOptions } from '../../src/gateway/worker.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../skills/support/cleanup.ts'
import { createMemoryLog } from '../skills/support/log.ts'
import { openStore } from '../skills/support/store.ts'

const DONE: RunOutcome = { outcome: 'done' }

function workerOf(
  t: TestContext,
  store: Store,
  options: Partial<WorkerOptions> & Pick<WorkerOptions, 'run'>,
) {
  const log = createMemoryLog()
  const worker = createWorker({
    queue: 'q',
    store,
    owner: 'me',
    concurrency: 10,
    limits: () => new Map(),
    lease: 30_000,
    log,
    now: Date.now,
    ...options,
  })
  cleanup(t, () => worker.stop(0))
  return { ...worker, log }
}

const job = (id: string, parts: Partial<NewJob> = {}): NewJob => ({ id, lane: id, group: 'g', ...parts })

/** Runs that a test ends by hand, and those that are under way. */
function heldRuns() {
  const held = new Map<string, PromiseWithResolvers<void>>()
  const seen: string[] = []
  return {
    seen,
    under: () => [...held.keys()],
    release(id: string) {
      held.get(id)?.resolve()
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

describe('a worker', () => {
  test('runs a lane one after the other and lanes beside each other', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    await store.jobs.add('q', [job('a1', { lane: 'a' }), job('a2', { lane: 'a' }), job('b1', { lane: 'b' })])
    workerOf(t, store, { run: runs.run }).start()
    await until(() => runs.under().length === 2, 'two lanes at work')
    assert.deepEqual(runs.under().toSorted(), ['a1', 'b1'])
    runs.release('a1')
    await until(() => runs.under().includes('a2'), 'the next of the lane')
    runs.release('a2')
    runs.release('b1')
    await until(async () => (await store.jobs.list('q', 10)).length === 0, 'an empty queue')
  })

  test('keeps to the limit of a group, lets other groups pass, and does not spin meanwhile', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    let claims = 0
    const counted: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: store.onSignal,
      jobs: {
        ...store.jobs,
        claim(queue, request) {
          claims++
          return store.jobs.claim(queue, request)
        },
      },
    }
    await store.jobs.add('q', [
      job('s1', { group: 'slow' }),
      job('s2', { group: 'slow' }),
      job('s3', { group: 'slow' }),
      job('f1', { group: 'fast' }),
    ])
    workerOf(t, store, { store: counted, run: runs.run, limits: () => new Map([['slow', 1]]) }).start()
    await until(() => runs.under().length === 2, 'one of each group')
    assert.deepEqual(runs.under().toSorted(), ['f1', 's1'])
    const before = claims
    let looks = 0
    await until(() => ++looks > 10, 'a while')
    assert.ok(claims - before <= 2, `${claims - before} claims while nothing could be claimed`)
    runs.release('s1')
    await until(() => runs.under().includes('s2'), 'the next of the group')
    for (const id of ['f1', 's2']) runs.release(id)
    await until(() => runs.under().includes('s3'), 'the last of the group')
    runs.release('s3')
  })

  test('renews its claims, so that a long job is not given to another worker', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    let renewals = 0
    const counted: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: store.onSignal,
      jobs: {
        ...store.jobs,
        async renew(queue, claims, lease) {
          renewals++
          return store.jobs.renew(queue, claims, lease)
        },
      },
    }
    await store.jobs.add('q', [job('long')])
    workerOf(t, store, { store: counted, run: runs.run, lease: 300 }).start()
    await until(() => renewals >= 5, 'more than a whole lease')
    assert.deepEqual(runs.seen, ['long'])
    runs.release('long')
    await until(async () => (await store.jobs.list('q', 10)).length === 0, 'the end of the job')
  })

  test('aborts a job whose claim is lost', async (t) => {
    const store = await openStore(t)
    let reason: unknown
    const lossy: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: store.onSignal,
      jobs: { ...store.jobs, renew: async (_queue, claims) => claims.map(() => false) },
    }
    await store.jobs.add('q', [job('lost')])
    workerOf(t, store, {
      store: lossy,
      lease: 90,
      run: (_job, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            resolve(DONE)
          })
        }),
    }).start()
    await until(() => reason, 'the abort')
    assert.match(String(reason), /claim ran out/)
  })

  test('hands back at the end of the grace what still runs, without counting an attempt', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    await store.jobs.add('q', [job('a')])
    const worker = workerOf(t, store, { run: runs.run })
    worker.start()
    await until(() => runs.under().length === 1, 'the run')
    await worker.stop(10)
    const again = await store.jobs.claim('q', { max: 1, lease: 1000, owner: 'next' })
    assert.deepEqual(
      again.jobs.map(({ id, failures, lost }) => ({ id, failures, lost })),
      [{ id: 'a', failures: 0, lost: 0 }],
    )
  })

  test('lets what runs finish within the grace, and claims nothing more', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    await store.jobs.add('q', [job('a')])
    const worker = workerOf(t, store, { run: runs.run })
    worker.start()
    await until(() => runs.under().length === 1, 'the run')
    const stopped = worker.stop(10_000)
    await store.jobs.add('q', [job('b')])
    runs.release('a')
    await stopped
    assert.deepEqual(
      (await store.jobs.list('q', 10)).map(({ id }) => id),
      ['b'],
    )
    assert.deepEqual(runs.seen, ['a'])
  })

  test('forgets no job that comes out of a claim while it stops', async (t) => {
    const store = await openStore(t)
    const claiming = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const slow: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: store.onSignal,
      jobs: {
        ...store.jobs,
        async claim(queue, request) {
          claiming.resolve()
          await go.promise
          return store.jobs.claim(queue, request)
        },
      },
    }
    await store.jobs.add('q', [job('a')])
    const seen: string[] = []
    const worker = workerOf(t, store, {
      store: slow,
      async run({ id }) {
        seen.push(id)
        return DONE
      },
    })
    worker.start()
    await claiming.promise
    const stopped = worker.stop(1000)
    go.resolve()
    await stopped
    const left = (await store.jobs.list('q', 10)).map(({ id, running }) => ({ id, running }))
    assert.deepEqual([seen, left], [['a'], []])
  })

  test('ends a job that keeps failing in a way that nothing foresaw, instead of trying for ever', async (t) => {
    const store = await openStore(t)
    await store.jobs.add('q', [job('bad'), job('good')])
    const failures = { at: 0, code: 'x', message: 'x' }
    for (let attempt = 0; attempt < 9; attempt++) {
      const { jobs } = await store.jobs.claim('q', { max: 2, lease: 1000, owner: 'before' })
      const outcomes = jobs.map(({ id, token }) =>
        id === 'bad'
          ? ({ id, token, outcome: 'retry', delay: 0, error: failures } as const)
          : ({ id, token, outcome: 'release' } as const),
      )
      await store.jobs.settle('q', outcomes)
    }
    workerOf(t, store, {
      async run({ id }) {
        if (id === 'bad') throw new TypeError('a bug')
        return DONE
      },
    }).start()
    const letter = await until(() => store.jobs.deadLetters.get('bad'), 'the dead letter')
    assert.match(letter.errors.at(-1)?.message ?? '', /a bug/)
  })

  test('stores an outcome once the store is back, and does not run the job again', async (t) => {
    const store = await openStore(t)
    const { TriviumError } = await import('../../src/core/errors.ts')
    let away = 1
    const flaky: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: store.onSignal,
      jobs: {
        ...store.jobs,
        async settle(queue, outcomes) {
          if (away-- > 0) throw new TriviumError('store_unavailable', { store: 's', reason: 'r' })
          return store.jobs.settle(queue, outcomes)
        },
      },
    }
    await store.jobs.add('q', [job('a')])
    const seen: string[] = []
    workerOf(t, store, {
      store: flaky,
      async run({ id }) {
        seen.push(id)
        return DONE
      },
    }).start()
    await until(async () => (await store.jobs.list('q', 10)).length === 0, 'the outcome')
    assert.deepEqual(seen, ['a'])
  })

  test('goes on after the store was away, without a signal', async (t) => {
    const store = await openStore(t)
    let away = true
    const flaky: Pick<Store, 'jobs' | 'onSignal'> = {
      onSignal: () => () => {},
      jobs: {
        ...store.jobs,
        async claim(queue, request) {
          if (away) {
            away = false
            throw new Error('away')
          }
          return store.jobs.claim(queue, request)
        },
      },
    }
    await store.jobs.add('q', [job('a')])
    workerOf(t, store, { store: flaky, run: async () => DONE }).start()
    await until(async () => (await store.jobs.list('q', 10)).length === 0, 'the job done')
  })
})
