import type { Log } from '../core/log.ts'
import type { BusyLane, ClaimedJob, Store } from '../core/store.ts'
import type { Retry, RunOutcome } from './attempts.ts'
import type { Pumped } from './pump.ts'

/** What a worker of one queue is made of. */
export type WorkerOptions = {
  queue: string
  store: Pick<Store, 'jobs' | 'onSignal'>
  concurrency: number
  /** Jobs at once of each group; groups it does not name are bounded by `concurrency` only. */
  limits?(): ReadonlyMap<string, number>
  /**
   * Groups whose jobs take no place, as they mostly wait for others: they are bounded by their own limit, and are claimed also
   * while all places are taken.
   */
  unplaced?(): ReadonlySet<string>
  /** What to do with lanes that are busy, by group. */
  busy?(): Record<string, BusyLane> | undefined
  /** Milliseconds after which a claim of a dead process may be claimed again; renewed at a third of it. */
  lease?: number
  run(job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome>
  /** Whether the work on a job goes on elsewhere: it takes no place but of its group, and a stop gives it back at once. */
  goesOn?(job: ClaimedJob): boolean
  /** Called once an outcome is stored; not where the claim was lost meanwhile. */
  settled?(job: ClaimedJob, outcome: RunOutcome['outcome']): void
  /** What becomes of a throw of `run`; without an end, one broken job would hold its lane for ever. */
  retry?: Retry
  /** Whether a job waits until it is let go (`unhold`); asked once it is claimed. */
  isHeld?(job: ClaimedJob): boolean
  /** Called when there is room for a job here and none to claim. */
  refill?(): Promise<Pumped>
  log: Log
  now(): number
}
