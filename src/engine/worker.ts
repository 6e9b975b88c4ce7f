import { reasonOf, TriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { AttemptError, BusyLane, ClaimedJob, Settled, Store } from '../core/store.ts'
import { type Backoff, backoff } from '../lib/backoff.ts'
import { createBatcher } from '../lib/batch.ts'
import { defined } from '../lib/defined.ts'
import { createLoop } from '../lib/loop.ts'
import { pause } from '../lib/pause.ts'
import type { Pumped } from './pump.ts'

/** Outcome of a run. An error after the abort releases the job without counting an attempt; any other error is a failed attempt. */
export type RunOutcome = WithoutClaim<Settled>

type WithoutClaim<Each> = Each extends Settled ? Omit<Each, 'id' | 'token'> : never

export type Worker = ReturnType<typeof createWorker>

export type WorkerOptions = {
  queue: string
  store: Pick<Store, 'jobs' | 'onSignal'>
  concurrency: number
  /** Maximum concurrent jobs per group; other groups are limited by `concurrency` only. */
  limits?(): ReadonlyMap<string, number>
  /**
   * Groups whose jobs mostly wait and therefore take no slot: only their own limit applies, and they are claimed even
   * while all slots are taken.
   */
  unplaced?(): ReadonlySet<string>
  /** How to treat busy lanes, by group. */
  busy?(): Record<string, BusyLane> | undefined
  /** Lease in ms after which another process may claim the job of a dead one; renewed after a third of it. */
  lease?: number
  run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome>
  /** Whether a job's work runs elsewhere: it takes a slot of its group only, and a stop releases it at once. */
  goesOn?(job: ClaimedJob): boolean
  /** Called once an outcome is stored, unless the claim was lost. */
  settled?(job: ClaimedJob, outcome: RunOutcome['outcome']): void
  /** Retry policy for errors of `run`. It must end, or one broken job would block its lane for ever. */
  retry?: Retry
  /** Whether a claimed job must be held until `unhold`. */
  isHeld?(job: ClaimedJob): boolean
  /** Called when there is room for a job but none to claim. */
  refill?(): Promise<Pumped>
  log: Log
  now(): number
}

type Running = { job: ClaimedJob; since: number; abort: AbortController; ended?: Promise<void> }

/** Pause in ms after a store failure, to avoid a busy loop. */
export const STORE_PAUSE = 500

/** Claim size for jobs that take no slot. */
const UNPLACED = 64

type Retry = Backoff & { attempts: number }

const RETRY: Retry = { attempts: 10, first: STORE_PAUSE, longest: 60_000 }

/** Claims, runs and settles the jobs of one queue. Keeps no job in memory that is not in the store. */
export function createWorker(options: WorkerOptions) {
  const { queue, store, lease = 10_000, log, now } = options
  /** By token: a released job may be claimed again before its first claim is removed here. */
  const running = new Map<string, Running>()
  const perGroup = new Map<string, number>()
  /** Number of jobs at work; others in `running` wait until their outcome is stored. */
  let active = 0
  /** Number of running jobs that take no slot. */
  let elsewhere = 0
  let isIdle = false
  /** The last claim found nothing, with room in every group: the next one waits for a signal or until `due`. */
  let isSpent = false
  let due: number | undefined
  /** The grace period of a drain has ended. */
  let hurried = false
  let off = () => {}
  let renewal: NodeJS.Timeout | undefined

  const settler = createBatcher<Settled, boolean | Error>({
    max: 256,
    run: (outcomes) => store.jobs.settle(queue, outcomes),
    failed: (answer) => (answer instanceof Error ? answer : undefined),
  })

  /** Number of claimable jobs per group. */
  const room = (isFull: boolean, unplaced: ReadonlySet<string> | undefined): Record<string, number> => {
    const limits: Record<string, number> = isFull ? { '': 0 } : {}
    for (const [group, limit] of options.limits?.() ?? [])
      limits[group] = isFull && !unplaced?.has(group) ? 0 : Math.max(0, limit - (perGroup.get(group) ?? 0))
    return limits
  }

  /** Storing outcomes overlaps with the next jobs, up to a limit, so that a slow store does not pile them up. */
  const freePlaces = () =>
    options.concurrency - Math.max(active, running.size - elsewhere - options.concurrency)

  const occupy = (group: string, isElsewhere: boolean, change: 1 | -1) => {
    if (isElsewhere) elsewhere += change
    else active += change
    perGroup.set(group, (perGroup.get(group) ?? 0) + change)
  }

  const refill = async () => (await options.refill?.()) ?? 'nothing'
  const loop = createLoop({
    async step() {
      const places = freePlaces()
      const unplaced = options.unplaced?.()
      const isFull = places <= 0
      if (isFull && !unplaced?.size) return undefined
      let brought: Pumped = isIdle ? await refill() : 'nothing'
      if (brought === 'jobs') isSpent = false
      if (!isSpent || (due !== undefined && due <= now())) {
        const limits = room(isFull, unplaced)
        const max = isFull ? UNPLACED : places
        const request = { max, lease, limits, ...defined({ busy: options.busy?.() }) }
        // What comes meanwhile is heard of.
        isSpent = true
        const { items, more, nextDue } = await store.jobs.claim(queue, request)
        if (more) isSpent = false
        due = nextDue
        for (const job of items) begin(job)
        brought = items.length > 0 && (more || freePlaces() <= 0) ? 'jobs' : await refill()
        isIdle = brought !== 'jobs'
        if (!isIdle) isSpent = false
        if (!isIdle && (unplaced?.size || freePlaces() > 0)) return 'again'
      }
      if (brought === 'unrouted') return 'again'
      return due === undefined ? undefined : due - now()
    },
    failed: (err) => {
      isSpent = false
      log.warn({ queue, err }, 'the store does not answer; trying again')
    },
    pause: STORE_PAUSE,
  })
  const look = () => {
    isSpent = false
    loop.wake()
  }

  const begin = (job: ClaimedJob) => {
    const one: Running = { job, since: now(), abort: new AbortController() }
    running.set(job.token, one)
    one.ended = perform(job, one.abort)
  }

  const perform = async (job: ClaimedJob, abort: AbortController) => {
    try {
      // Evaluated once: routes may change meanwhile.
      const isElsewhere = (options.goesOn?.(job) || options.unplaced?.().has(job.group)) ?? false
      occupy(job.group, isElsewhere, 1)
      const outcome = await outcomeOf(job, abort.signal)
      occupy(job.group, isElsewhere, -1)
      loop.wake()
      const isStored = await settle({ ...outcome, id: job.id, token: job.token })
      if (isStored) options.settled?.(job, outcome.outcome)
    } finally {
      running.delete(job.token)
      loop.wake()
    }
  }

  const outcomeOf = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    try {
      if (options.isHeld?.(job)) return { outcome: 'hold' }
      return await options.run(job, signal)
    } catch (error) {
      const delay = isStoreAway(error) ? STORE_PAUSE : pauseOf(error, now())
      if (signal.aborted) return { outcome: 'release' }
      return delay === undefined ? failed(job, error) : { outcome: 'release', delay }
    }
  }

  const failed = (job: ClaimedJob, thrown: unknown): RunOutcome => {
    const outcome = failedAttempt(job, thrown, options.retry ?? RETRY, now())
    const fields = { queue, job: job.id, err: thrown }
    if (outcome.outcome === 'dead') log.error(fields, 'a job became a dead letter')
    else log.warn(fields, 'a job failed and is tried again')
    return outcome
  }

  /** Retries while the store is unreachable: the claim is renewed meanwhile, so the job need not run twice. */
  const settle = async (settled: Settled) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const isOurs = (await settler.add(settled)) === true
        if (!isOurs)
          log.warn({ queue, job: settled.id }, 'the claim had run out; the job is with another worker')
        return isOurs
      } catch (error) {
        const fields = { queue, job: settled.id, err: error }
        if (hurried || !(error instanceof TriviumError && error.retryable)) {
          log.error(fields, 'the outcome could not be stored; the job will run again')
          return false
        }
        if (attempt === 1) log.warn(fields, 'the outcome could not be stored yet; trying again')
        await pause(STORE_PAUSE)
      }
    }
  }

  return {
    start(): void {
      off = store.onSignal(`jobs:${queue}`, look)
      renewal = setInterval(() => void renew(running, options, lease), lease / 3)
      loop.start()
    },
    /** Stops claiming, waits up to `grace` ms for running jobs, then aborts and releases them (no attempt is counted). */
    async stop(grace: number): Promise<void> {
      off()
      await loop.stop()
      const ended = Promise.all([...running.values()].map((one) => one.ended))
      const abort = (those: Running[]) => {
        const reason = new TriviumError('cancelled', { what: 'The work', reason: 'the daemon is stopping' })
        for (const one of those) one.abort.abort(reason)
      }
      abort([...running.values()].filter(({ job }) => options.goesOn?.(job)))
      const timer = setTimeout(() => {
        hurried = true
        abort([...running.values()])
      }, grace)
      await ended
      clearTimeout(timer)
      clearInterval(renewal)
      await settler.idle()
    },
    /** Aborts running attempts on a message. */
    cancel(messageId: string, reason: TriviumError): void {
      for (const { job, abort } of running.values()) if (job.messageId === messageId) abort.abort(reason)
    },
    /** Looks for jobs, for example after the limits changed. */
    wake: look,
    /** Calls `refill` if there is room. */
    wakeToRefill: loop.wake,
    /** Running jobs with their start (Unix ms). */
    running: () => [...running.values()].map(({ job, since }) => ({ job, since })),
  }
}

/** Renews the claims of running jobs, and aborts those that another worker has taken. */
async function renew(
  running: ReadonlyMap<string, Running>,
  { queue, store, log }: Pick<WorkerOptions, 'queue' | 'store' | 'log'>,
  lease: number,
): Promise<void> {
  const claims = [...running.values()].map(({ job }) => ({ id: job.id, token: job.token }))
  if (claims.length === 0) return
  try {
    const kept = await store.jobs.renew(queue, claims, lease)
    for (const { id, token } of claims.filter((_, index) => !kept[index])) {
      const lost = { what: `Job ${id} of ${queue}`, reason: 'its claim ran out and another worker has it' }
      running.get(token)?.abort.abort(new TriviumError('cancelled', lost))
    }
  } catch (error) {
    log.warn({ queue, err: error }, 'claims could not be renewed')
  }
}

/** Whether work failed because the store, or a part of it, was unreachable. That does not count as an attempt. */
export function isStoreAway(thrown: unknown): boolean {
  return thrown instanceof TriviumError && thrown.code === 'store_unavailable'
}

/** Maximum ms that a job waits for a budget before it is checked again. */
const LONGEST_PAUSE = 60_000

/** How long (ms) to wait after a budget refusal, which does not count as an attempt. Undefined for any other error. */
export function pauseOf(thrown: unknown, now: number): number | undefined {
  if (!(thrown instanceof TriviumError) || thrown.code !== 'budget_exhausted') return undefined
  const until = Number(pathGet(thrown.cause, 'until'))
  return Math.max(SHORTEST_PAUSE, Math.min(until - now, LONGEST_PAUSE))
}
const SHORTEST_PAUSE = 1_000

/** Outcome of a failed attempt: a retry after a pause, or a dead letter (at once if a retry cannot help). */
export function failedAttempt(
  job: Pick<ClaimedJob, 'failures' | 'lost'>,
  thrown: unknown,
  retry: Retry,
  at: number,
): Extract<RunOutcome, { outcome: 'retry' | 'dead' }> {
  const attempt = attemptOf(job)
  const error = attemptError(thrown, at)
  const permanent = thrown instanceof TriviumError && !thrown.retryable
  if (!permanent && attempt < retry.attempts) {
    return { outcome: 'retry', delay: backoff(attempt, retry), error }
  }
  return { outcome: 'dead', error, reason: permanent ? 'permanent' : 'attempts' }
}

/** Attempt number of a job; attempts whose holder died count. */
export function attemptOf({ failures, lost }: Pick<ClaimedJob, 'failures' | 'lost'>): number {
  return failures + lost + 1
}

/** The error of a job that ran out of attempts before this claim: its holder died each time. */
export function lastErrorOf({ errors, lost }: ClaimedJob): Error {
  return new Error(errors.at(-1)?.message ?? `the process that ran it died ${lost} times`)
}

/** An error, in the form stored with a job's attempts. */
export function attemptError(error: unknown, at: number): AttemptError {
  const own = error instanceof TriviumError && error.code === 'job_failed' ? error.cause : error
  const stack = own instanceof Error && !(own instanceof TriviumError) ? own.stack : undefined
  return {
    at,
    code: error instanceof TriviumError ? error.code : 'skill_failed',
    message: reasonOf(error),
    ...(stack ? { stack: stack.slice(0, 2000) } : {}),
  }
}
