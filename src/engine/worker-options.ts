import type { Log } from '../core/log.ts'
import type { BusyLane, ClaimedJob, Store } from '../core/store.ts'
import type { Retry, RunOutcome } from './attempts.ts'
import type { Pumped } from './pump.ts'

/** The default of `lease` (ms). */
export const LEASE = 10_000

/** Options of the worker of one queue. */
export type WorkerOptions = {
  queue: string
  store: Pick<Store, 'jobs' | 'onSignal'>
  concurrency: number
  /** Maximum concurrent jobs per group; other groups are limited by `concurrency` only. */
  limits?(): ReadonlyMap<string, number>
  /**
   * Groups whose jobs mostly wait and therefore take no slot: only their own limit applies, and
   * they are claimed even while all slots are taken.
   */
  withoutSlot?(): ReadonlySet<string>
  /** How to treat busy lanes, by group. */
  busy?(): Record<string, BusyLane> | undefined
  /**
   * Lease in ms after which another process may claim the job of a dead one; renewed after a third
   * of it.
   */
  lease?: number
  run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome>
  /**
   * Whether a job's work runs elsewhere: it takes a slot of its group only, and a stop releases it
   * at once.
   */
  runsElsewhere?(job: ClaimedJob): boolean
  /** Called once an outcome is stored, unless the claim was lost. */
  settled?(job: ClaimedJob, outcome: RunOutcome): void
  /**
   * Retry policy for errors of `run`. Attempts are limited, or one broken job would block its lane
   * for ever.
   */
  retry?: Retry
  /** Whether a claimed job must be held until `unhold`. */
  isHeld?(job: ClaimedJob): boolean
  /**
   * Records that a job waits for the paused skill that its run called. The job is held then. Returns
   * false if the skill is no longer paused: the job runs again. Without it, the attempt has failed.
   */
  holdCall?(job: ClaimedJob, skill: string): Promise<boolean>
  /** Called when there is room for a job but none to claim. */
  refill?(): Promise<Pumped>
  log: Log
  now(): number
}
