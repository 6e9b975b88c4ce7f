import type { Json } from '../json.ts'
import type { Message } from '../message.ts'
import type { Note } from '../note.ts'
import type { Page, ReachablePage } from './page.ts'

/**
 * Durable jobs. Jobs of one lane run one at a time, in order; lanes run in parallel. A waiting job
 * blocks its lane.
 */
export type Jobs = {
  /** Adds jobs, except those whose id was added to the queue within the last seven days. */
  add(queue: string, jobs: readonly NewJob[]): Promise<{ added: boolean }[]>
  /**
   * Claims due jobs at the heads of free lanes, those ready longest first. A job belongs to the
   * caller until its lease expires.
   */
  claim(queue: string, request: Claim): Promise<ClaimedJobs>
  /**
   * Merges the unclaimed jobs of the same group and sender that directly follow a claimed job into
   * that job, and returns their messages, which are then in its `collected`. The history of each
   * message says `steered`. Undefined if the claim is lost.
   */
  mergeFollowing(
    queue: string,
    claim: { id: string; token: string; group: string },
  ): Promise<Message[] | undefined>
  /**
   * Ends claims with their outcomes. Per claim: false if it expired and another process has the
   * job; an error if its shard is unreachable.
   */
  settle(queue: string, outcomes: readonly Settled[]): Promise<(boolean | Error)[]>
  /**
   * Held jobs at the heads of their lanes, by job id, after the id `after`. Those of unreachable
   * shards are left out, as in `unhold`, `nextDue`, and `hasten` without ids.
   */
  held(queue: string, after: string, limit: number): Promise<ReachablePage<HeldJob>>
  /** Makes held jobs claimable again at their old place. Returns their number. */
  unhold(queue: string, ids: readonly string[]): Promise<number>
  /**
   * Makes jobs that wait for another attempt claimable now: all, or those with these ids. Returns
   * their number. Rejects if one of these ids may be on an unreachable shard.
   */
  hasten(queue: string, ids?: readonly string[]): Promise<number>
  /**
   * Makes a job that nobody has claimed a dead letter, also behind other jobs of its lane. Returns
   * false if it is claimed, or there is no such job.
   */
  bury(queue: string, id: string, end: Burial): Promise<boolean>
  /** When the next unclaimed job is due (Unix ms), possibly in the past; undefined if none is. */
  nextDue(queue: string): Promise<number | undefined>
  /** Renews leases; false for lost claims. */
  renew(queue: string, claims: readonly { id: string; token: string }[], lease: number): Promise<boolean[]>
  /** The state of an unfinished job; undefined if the job has ended or does not exist. */
  unfinished(queue: string, id: string): Promise<UnfinishedJob | undefined>
  /**
   * How a job ended: for dead jobs, and for those that ended within seven days and have `notify`, or
   * have no message and were retried as dead letters. Else undefined.
   */
  end(queue: string, id: string): Promise<JobEnd | undefined>
  deadLetters: DeadLetters
}

export type DeadLetters = {
  /** Newest first, by time and then id. A page with `more` is never empty. */
  list(filter: LetterFilter): Promise<ReachablePage<DeadLetter>>
  ids(): Promise<string[]>
  /** Without `queue`, gets the newest with that id. So do `retry` and `drop`. */
  get(id: string, queue?: string): Promise<DeadLetter | undefined>
  /**
   * Puts the job at the end of its lane with all attempts available. Returns false if there is no
   * such dead letter, or an unfinished job has its id. `by`: who may undo it, any text.
   */
  retry(id: string, queue?: string, by?: string): Promise<boolean>
  /**
   * Turns an unclaimed job back into the dead letter that it was before its last retry; later
   * attempts are not part of it. Returns false if the job is claimed or missing, or was retried by
   * someone other than `by`. `notes`: for the history of its message.
   */
  undoRetry(id: string, queue: string, undo: { by: string; notes?: readonly Note[] }): Promise<boolean>
  drop(id: string, queue?: string): Promise<boolean>
}

export type NewJob = {
  /** Unique within its queue. In dispatch, the message id, or `resumedJobId` after an approval. */
  id: string
  lane: string
  /** Unit of limited concurrency: the route in dispatch, the gateway in the outbox. */
  group: string
  /** The job's message, delivered with the claim and retained while the job exists. */
  messageId?: string
  data?: Json
  /** Keeps the result, and sends the signal `job:ID` at the end. */
  notify?: boolean
}

export type Claim = {
  /** Maximum number of jobs. */
  max: number
  /** Ms until a claim expires unless it is renewed. */
  lease: number
  /** Maximum number of jobs by group. */
  limits?: Record<string, number>
  /** How to treat several waiting messages of a lane, by group. For jobs with one message each. */
  busy?: Record<string, BusyLane>
}

/** How a claim treats the unclaimed jobs of one group and sender at the head of a lane. */
export type BusyLane = {
  /**
   * Claim the newest job with the messages of the others, which are removed. The value is also what
   * their histories record.
   */
  merge?: 'collected' | 'superseded'
  /** Claim only when the newest job is this old (ms), or the oldest ten times as old. */
  settle?: number
}

export type HeldJob = Pick<NewJob, 'id' | 'lane' | 'group'>

/** `more`: further jobs are due, which this claim may have left because of its limits. */
export type ClaimedJobs = Page<ClaimedJob> & {
  /** When a job may become claimable without a signal (Unix ms): a retry, an expiring lease. */
  nextDue?: number
}

export type ClaimedJob = NewJob & {
  token: string
  /** Number of failed attempts before this one. */
  failures: number
  /**
   * Number of claims that expired without an outcome: the holder died, and its effects are unknown.
   */
  lost: number
  errors: AttemptError[]
  /** It was a dead letter that someone retried, possibly long after its message arrived. */
  requeued?: boolean
  message?: Message
  /** Messages merged into this job, oldest first. */
  collected?: Message[]
}

export type AttemptError = { at: number; code: string; message: string; stack?: string }

/** The outcome of a claim. */
export type Settled = { id: string; token: string; notes?: readonly Note[] } & (
  | Done
  | Retry
  | Release
  | Hold
  | Dead
)

/** `result` is kept for seven days for jobs with `notify`. */
type Done = { outcome: 'done'; result?: Json }
/** The attempt failed. Another one may begin after `delay` ms. */
type Retry = { outcome: 'retry'; delay: number; error: AttemptError }
/** Returns the job unchanged (drain, reload). Does not count as an attempt. */
type Release = { outcome: 'release'; delay?: number }
/** Like `release`, but the job blocks its lane until `unhold`. */
type Hold = { outcome: 'hold' }
type Dead = { outcome: 'dead'; error: AttemptError; reason: DeadReason }

/** Why a job became a dead letter, and what the history of its message says. */
export type Burial = { error: AttemptError; reason: DeadReason; notes?: readonly Note[] }

/** `ambiguous`: a send with an unknown outcome, which must not be repeated without a check. */
export type DeadReason = 'attempts' | 'permanent' | 'ambiguous'

/** `error`: of the last attempt. `nextAt`: of the next one, if one failed (Unix ms). */
export type UnfinishedJob = Pick<NewJob, 'group'> & {
  state: 'waiting' | 'retrying' | 'running'
  error?: AttemptError
  nextAt?: number
}

/** `at`: Unix ms. */
export type JobEnd = { at: number } & (
  | { state: 'done'; result?: Json }
  | { state: 'dead'; error: AttemptError }
)

export type LetterFilter = {
  queue?: string | undefined
  group?: string | undefined
  /** The place from which to continue. */
  before?: Pick<DeadLetter, 'at' | 'id'> | undefined
  limit: number
  /** Leave out the letters of unreachable shards. Otherwise the read rejects if there are any. */
  isPartial?: boolean
}

/** A dead letter contains its message, even after retention has removed it from the journal. */
export type DeadLetter = Pick<
  ClaimedJob,
  'id' | 'lane' | 'group' | 'data' | 'errors' | 'message' | 'collected'
> & {
  queue: string
  /** When it died, after a retry: the last time. */
  at: number
  reason: DeadReason
  /** When it first died, and the attempts until then, if it was retried. */
  firstAt?: number
  firstErrors?: AttemptError[]
  /** The last retry. */
  retriedAt?: number
}
