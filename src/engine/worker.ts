import { TriviumError } from '../core/errors.ts'
import { pausedSkillIn } from '../core/paused-skill.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { ClaimedJob } from '../core/store.ts'
import { type Bag, createBag, type InBag } from '../lib/bag.ts'
import { createLoop } from '../lib/loop.ts'
import { failedAttempt, pauseOf, type Retry, type RunOutcome } from './attempts.ts'
import { createUsualDurations } from './usual-durations.ts'
import { createClaims } from './worker-claims.ts'
import { LEASE, type WorkerOptions } from './worker-options.ts'
import { createPlaces } from './worker-places.ts'
import { createSettler, STORE_PAUSE } from './worker-settler.ts'

export type Worker = ReturnType<typeof createWorker>

type Running = InBag & { job: ClaimedJob; since: number; abort: AbortController; ended?: Promise<void> }

const RETRY: Retry = { attempts: 10, first: STORE_PAUSE, longest: 60_000 }

/**
 * Claims, runs and settles the jobs of one queue. Keeps no job in memory that is not in the store.
 */
export function createWorker(options: WorkerOptions) {
  const { queue, store, lease = LEASE, log, now } = options
  /** The running jobs. A released job is in it twice if it is claimed again before its removal. */
  const running = createBag<Running>()
  const places = createPlaces(options, running)
  const usual = createUsualDurations()
  let off = () => {}
  let renewal: NodeJS.Timeout | undefined

  const settler = createSettler(options)
  const claims = createClaims(options, places, (job) => begin(job))
  const loop = createLoop({
    step: claims.step,
    failed: (err) => {
      claims.look()
      log.warn({ queue, err }, 'the store cannot be reached; trying again')
    },
    pause: STORE_PAUSE,
  })
  const look = () => {
    claims.look()
    loop.wake()
  }

  const begin = (job: ClaimedJob) => {
    const one: Running = { at: 0, job, since: now(), abort: new AbortController() }
    running.add(one)
    one.ended = perform(one)
  }

  const perform = async (one: Running) => {
    const { job, abort } = one
    try {
      const isElsewhere = takesNoSlot(job, options)
      places.occupy(job.group, isElsewhere, 1)
      const outcome = await outcomeOf(job, abort.signal, options)
      places.occupy(job.group, isElsewhere, -1)
      loop.wake()
      usual.ended(job.group, now() - one.since)
      const isStored = await settler.settle({ ...outcome, id: job.id, token: job.token })
      if (isStored) options.settled?.(job, outcome)
    } finally {
      running.remove(one)
      loop.wake()
    }
  }

  return {
    start(): void {
      off = store.onSignal(`jobs:${queue}`, look)
      renewal = setInterval(() => void renew(running, options, lease), lease / 3)
      loop.start()
    },
    /** Stops claiming, waits up to `grace` ms for running jobs, then aborts and releases them. */
    async stop(grace: number): Promise<void> {
      off()
      await loop.stop()
      const ended = Promise.all(running.items().map((one) => one.ended))
      abortAll(running.items().filter(({ job }) => options.runsElsewhere?.(job)))
      const timer = setTimeout(() => {
        settler.hurry()
        abortAll([...running.items()])
      }, grace)
      await ended
      clearTimeout(timer)
      clearInterval(renewal)
      await settler.idle()
    },
    /** Aborts running attempts on a message. */
    cancel(messageId: string, reason: TriviumError): void {
      for (const { job, abort } of [...running.items()]) if (job.messageId === messageId) abort.abort(reason)
    },
    /** Looks for jobs, for example after the limits changed. */
    wake: look,
    /** Calls `refill` if there is room. */
    wakeToRefill: loop.wake,
    /** Running jobs: their start (Unix ms), and the longest recent attempt of their group (ms). */
    running: () => running.items().map((one) => timesOf(one, usual)),
  }
}

/** Evaluated once for a job, as routes may change meanwhile. */
function takesNoSlot(job: ClaimedJob, { runsElsewhere, withoutSlot }: WorkerOptions): boolean {
  return (runsElsewhere?.(job) || withoutSlot?.().has(job.group)) ?? false
}

function timesOf({ job, since }: Running, usual: ReturnType<typeof createUsualDurations>) {
  return { job, since, longest: usual.longest(job.group) }
}

/** Runs a job; an error is an outcome, too. */
async function outcomeOf(
  job: ClaimedJob,
  signal: AbortSignal,
  { queue, isHeld, holdCall, run, retry = RETRY, log, now }: WorkerOptions,
): Promise<RunOutcome> {
  try {
    if (isHeld?.(job)) return { outcome: 'hold' }
    return await run(job, signal)
  } catch (error) {
    const delay = isStoreAway(error) ? STORE_PAUSE : pauseOf(error, now())
    if (signal.aborted) return { outcome: 'release' }
    if (delay !== undefined) return { outcome: 'release', delay }
    const skill = pausedSkillIn(error)
    if (holdCall && skill !== undefined) return hold(() => holdCall(job, skill))
    const outcome = failedAttempt(job, error, retry, now())
    const fields = { queue, job: job.id, err: error }
    if (outcome.outcome === 'dead') log.error(fields, 'a job became a dead letter')
    else log.warn(fields, 'a job failed and is tried again')
    return outcome
  }
}

/**
 * Holds a job whose run called a paused skill. If that cannot be recorded, or the skill was resumed
 * meanwhile, it runs again.
 */
async function hold(record: () => Promise<boolean>): Promise<RunOutcome> {
  const isRecorded = await record().catch(() => false)
  return isRecorded ? { outcome: 'hold' } : { outcome: 'release', delay: STORE_PAUSE }
}

/** Renews the claims of running jobs, and aborts those that another worker has taken. */
async function renew(
  running: Pick<Bag<Running>, 'items'>,
  { queue, store, log }: Pick<WorkerOptions, 'queue' | 'store' | 'log'>,
  lease: number,
): Promise<void> {
  const claimed = [...running.items()]
  const claims = claimed.map(({ job }) => ({ id: job.id, token: job.token }))
  if (claims.length === 0) return
  try {
    const kept = await store.jobs.renew(queue, claims, lease)
    for (const one of claimed.filter((_, index) => !kept[index])) {
      const { job, abort } = one
      // It may have ended during the call.
      if (!running.items().includes(one)) continue
      const lost = {
        what: `Job ${job.id} of ${queue}`,
        reason: 'its claim expired and another worker has it',
      }
      abort.abort(new TriviumError('cancelled', lost))
    }
  } catch (error) {
    log.warn({ queue, err: error }, 'claims could not be renewed')
  }
}

function abortAll(those: readonly Running[]): void {
  const reason = new TriviumError('cancelled', { what: 'The work', reason: 'the daemon is stopping' })
  for (const { abort } of those) abort.abort(reason)
}
