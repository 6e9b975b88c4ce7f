import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { skillPaused } from '../../src/core/paused-skill.ts'
import type { ClaimedJob, NewJob, Store } from '../../src/core/store.ts'
import type { RunOutcome } from '../../src/engine/attempts.ts'
import type { Pumped } from '../../src/engine/pump.ts'
import { createWorker } from '../../src/engine/worker.ts'
import type { WorkerOptions } from '../../src/engine/worker-options.ts'
import { pause } from '../../src/lib/pause.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { begin, partsOf, untilEmpty, withJobs } from './kit.ts'

const DONE: RunOutcome = { outcome: 'done' }

function startWorker(
  t: TestContext,
  store: Store,
  options: Partial<WorkerOptions> & Pick<WorkerOptions, 'run'>,
) {
  const defaults = { ...partsOf(store), queue: 'q' }
  return begin(t, createWorker({ ...defaults, ...options }))
}

const job = (id: string, parts: Partial<NewJob> = {}): NewJob => ({ id, lane: id, group: 'g', ...parts })

/**
 * A run function whose runs the test ends. `running` returns the ids of current runs, and `started`
 * has all so far.
 */
function heldRuns() {
  const held = new Map<string, PromiseWithResolvers<void>>()
  const started: string[] = []
  return {
    started,
    running: () => [...held.keys()].toSorted(),
    release: (...ids: string[]) => {
      for (const id of ids) held.get(id)?.resolve()
    },
    async run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> {
      started.push(job.id)
      const gate = Promise.withResolvers<void>()
      held.set(job.id, gate)
      signal.addEventListener('abort', () => gate.reject(signal.reason))
      try {
        await gate.promise
        return DONE
      } finally {
        held.delete(job.id)
      }
    },
  }
}

/** Resolves once a number has not changed for 100 ms. */
async function untilStable(count: () => number) {
  let last = count()
  for (let unchanged = 0; unchanged < 10; ) {
    await pause(10)
    unchanged = count() === last ? unchanged + 1 : 0
    last = count()
  }
}

describe('a worker', () => {
  test('holds a job whose run called a paused skill, which is no failed attempt', async (t) => {
    const store = await openStore(t)
    await store.jobs.add('q', [job('a')])
    const recorded: string[] = []
    let isPaused = true
    let runs = 0
    startWorker(t, store, {
      async run() {
        runs++
        if (isPaused)
          throw new Error('the caller wrapped it', { cause: skillPaused({ name: 'pay', by: 'ada' }) })
        return DONE
      },
      holdCall: async ({ id }, skill) => recorded.push(`${id} ${skill}`) > 0,
    })
    const held = async () => (await store.jobs.held('q', '', 10)).items.map(({ id }) => id)
    await until(async () => (await held()).includes('a'), 'the held job')
    assert.deepEqual([recorded, runs], [['a pay'], 1])
    isPaused = false
    await store.jobs.unhold('q', ['a'])
    await untilEmpty(store, 'q')
    assert.equal(runs, 2)
  })

  test('runs a job again whose run called a skill that was resumed meanwhile', async (t) => {
    const store = await openStore(t)
    await store.jobs.add('q', [job('a')])
    let runs = 0
    startWorker(t, store, {
      async run() {
        runs++
        if (runs === 1) throw skillPaused({ name: 'pay', by: 'ada' })
        return DONE
      },
      holdCall: async () => false,
    })
    await untilEmpty(store, 'q')
    assert.equal(runs, 2)
  })

  test('runs a group up to its limit and other groups meanwhile, without claiming repeatedly', async (t) => {
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
    startWorker(t, store, { run: runs.run, limits: () => new Map([['slow', 1]]) })
    await until(() => runs.running().length === 2, 'one of each group')
    assert.deepEqual(runs.running(), ['f1', 's1'])
    const before = claims
    await untilStable(() => claims)
    assert.ok(claims - before <= 2, `${claims - before} claims while nothing could be claimed`)
    runs.release('s1')
    await until(() => runs.running().includes('s2'), 'the next of the group')
    runs.release('f1', 's2')
    await until(() => runs.running().includes('s3'), 'the last of the group')
    runs.release('s3')
  })

  test('runs jobs that need no place while all places are taken, up to their own limit', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    const slow = ['s1', 's2'].map((id) => job(id, { group: 'slow' }))
    const light = ['l1', 'l2', 'l3'].map((id) => job(id, { group: 'light' }))
    await store.jobs.add('q', [...slow, job('ungrouped', { group: '' })])
    const limits = () => new Map(Object.entries({ slow: 9, light: 2 }))
    startWorker(t, store, { run: runs.run, concurrency: 1, limits, withoutSlot: () => new Set(['light']) })
    await until(() => runs.running().length === 1, 'the only place is taken')
    await store.jobs.add('q', light)
    await until(() => runs.running().length === 3, 'two light jobs')
    assert.deepEqual(runs.running(), ['l1', 'l2', 's1'])
    runs.release('l1')
    await until(() => runs.running().includes('l3'), 'the next light job')
    assert.ok(!runs.started.includes('s2') && !runs.started.includes('ungrouped'))
    runs.release('s1')
    await until(() => runs.started.length === 5, 'the next job to get the place')
    // Only one of s2 and ungrouped runs yet.
    runs.release('l2', 'l3', 's2', 'ungrouped')
    await until(() => runs.started.length === 6, 'all jobs')
    runs.release('s2', 'ungrouped')
  })

  test('claims nothing after the last job of a lane, and the next job of a lane immediately', async (t) => {
    const real = await openStore(t)
    const runs = heldRuns()
    let claims = 0
    let settled = 0
    const store = withJobs(real, {
      claim(...args) {
        claims++
        return real.jobs.claim(...args)
      },
    })
    startWorker(t, store, { run: runs.run, limits: () => new Map([['g', 9]]), settled: () => settled++ })
    await store.jobs.add('q', [job('a'), job('b', { lane: 'l' }), job('c', { lane: 'l' })])
    await until(() => runs.running().length === 2, 'the first job of each lane')
    await untilStable(() => claims)
    const before = claims
    runs.release('a')
    await until(() => settled === 1, 'the end of a')
    await untilStable(() => claims)
    assert.equal(claims, before)
    runs.release('b')
    await until(() => runs.running().includes('c'), 'the next job of the lane')
    runs.release('c')
  })

  test('a job whose work runs elsewhere needs no place', async (t) => {
    const store = await openStore(t)
    const runs = heldRuns()
    await store.jobs.add('q', [job('a', { group: 'away' }), job('b', { group: 'away' }), job('here')])
    startWorker(t, store, { run: runs.run, concurrency: 1, runsElsewhere: ({ group }) => group === 'away' })
    await until(() => runs.running().length === 3, 'all jobs')
    runs.release('a', 'b', 'here')
  })

  test('refills the queue only when nothing is left to claim', async (t) => {
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
    startWorker(t, store, { run: runs.run, concurrency: 2, refill })
    await until(() => runs.running().length === 2, 'the first batch')
    assert.equal(batches, 1)
    runs.release('11', '12')
    await until(() => runs.started.length === 4, 'the second batch')
    assert.deepEqual([runs.started, batches], [['11', '12', '21', '22'], 2])
    runs.release('21', '22')
    await untilEmpty(store, 'q')
  })

  test('renews its claims, so that no other worker gets a long job', async (t) => {
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
    startWorker(t, store, { run: runs.run, lease: 2_000 })
    await until(() => renewals >= 4, 'more than a whole lease')
    assert.deepEqual(runs.started, ['long'])
    runs.release('long')
    await untilEmpty(store, 'q')
  })

  test('aborts a job whose claim is lost', async (t) => {
    const store = withJobs(await openStore(t), {
      renew: async (_queue, claims) => claims.map(() => false),
    })
    const lost = Promise.withResolvers<unknown>()
    await store.jobs.add('q', [job('lost')])
    startWorker(t, store, {
      lease: 90,
      async run(_job, signal) {
        signal.addEventListener('abort', () => lost.resolve(signal.reason))
        await lost.promise
        return DONE
      },
    })
    assert.match(String(await lost.promise), /claim expired/)
  })

  test('runs a job that a claim returns while it stops', async (t) => {
    const real = await openStore(t)
    const claiming = Promise.withResolvers<void>()
    const claimEnds = Promise.withResolvers<void>()
    const store = withJobs(real, {
      async claim(...args) {
        claiming.resolve()
        await claimEnds.promise
        return real.jobs.claim(...args)
      },
    })
    await store.jobs.add('q', [job('a')])
    const worker = startWorker(t, store, { run: async () => DONE })
    await claiming.promise
    const stopped = worker.stop(1000)
    claimEnds.resolve()
    await stopped
    assert.deepEqual((await store.stats()).jobs, [{ queue: 'q', waiting: 0, running: 0, dead: 0 }])
  })

  test('a job that fails repeatedly with unexpected errors becomes a dead letter', async (t) => {
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
    startWorker(t, store, { run: () => Promise.reject(new TypeError('a bug')) })
    const letter = await until(() => store.jobs.deadLetters.get('bad'), 'the dead letter')
    assert.match(letter.errors.at(-1)?.message ?? '', /a bug/)
  })

  test('continues without a signal once the store is back, and does not repeat a job whose outcome was not stored', async (t) => {
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
    startWorker(t, store, {
      async run({ id }) {
        seen.push(id)
        return DONE
      },
    })
    await untilEmpty(store, 'q')
    assert.deepEqual([seen, failures], [['a'], []])
  })
})
