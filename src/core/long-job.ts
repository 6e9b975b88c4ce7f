import { z } from 'zod'
import type { Json } from './json.ts'

const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const

/**
 * The states by which jobs can be filtered: all that are shown. `delivering`, `retrying`: the job
 * is done, but its queued work is in progress. `cancelling`: cancelled, while it is withdrawn.
 * `with-failures` and `failed`: the job failed, or something that it queued failed permanently.
 */
export const JOB_FILTERS = [...JOB_STATES, 'delivering', 'retrying', 'cancelling', 'with-failures'] as const
export type JobFilter = (typeof JOB_FILTERS)[number]

export const JOB_KINDS = ['replay', 'dead-letters', 'person-erase'] as const

/** A long job, as operators see it. Times are Unix ms. Kept for a week after its end. */
export const longJobSchema = z.object({
  id: z.string(),
  /** `replay`, `dead-letters` or `person-erase`. */
  kind: z.string(),
  state: z.enum(JOB_STATES),
  /** Who started it. */
  by: z.string(),
  startedAt: z.number(),
  updatedAt: z.number(),
  endedAt: z.number().exactOptional(),
  /** What it works on: names and times, no personal data. */
  target: z.record(z.string(), z.json()),
  /** How much of `total` is done. */
  done: z.number(),
  /** An estimate until the end. */
  total: z.number(),
  /** The current part, for a job with several. */
  at: z.string().exactOptional(),
  result: z.json().exactOptional(),
  /** Why it failed, or why its last step failed and will be retried. */
  error: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  /** Time of the next attempt after `error`. */
  retryAt: z.number().exactOptional(),
  /** When it was cancelled, and by whom. Jobs of older versions do not have it. */
  cancelled: z.object({ at: z.number(), by: z.string().exactOptional() }).exactOptional(),
  /** It was cancelled, and what it queued is being withdrawn. */
  withdrawing: z.literal(true).exactOptional(),
})

/** A job as it is shown, with the outcomes of what it queued. Times are Unix ms. */
export type LongJob = z.infer<typeof longJobSchema> & {
  /**
   * The outcomes of the events of a replay so far (`ReplayOutcomes` to a push, `ReplayReads` to a
   * group), or those of retried messages, by name. Retried messages that failed again stay `dead`.
   */
  outcomes?: Readonly<Record<string, number>>
  /** What was done since with messages that failed again, or with withdrawn messages and events. */
  later?: readonly LaterActions[]
  /** The job has ended, and something that it queued is still in progress. */
  delivering?: true
  /** Why messages of a retry failed again or are tried again, the most urgent causes first. */
  causes?: readonly JobCause[]
  /** When the last of what an ended job queued ended, if nothing of it is in progress. */
  settledAt?: number
  /** How many events of a replay its push delivers a second at present. */
  speed?: number
  /** The maximum rate (1/s) of the push, if it has one. */
  rate?: number
  /** Why what it queued waits. */
  waitsFor?: readonly JobWait[]
  /** Only in `job-show`, for a running job: its `result` if it were cancelled now. */
  soFar?: Json
  /** Only in `job-show`: the first of its messages or events, those that need someone first. */
  messages?: readonly JobMessage[]
  /** Only in `job-show`: all its messages or events by outcome and cause, in the same order. */
  groups?: readonly JobGroup[]
}

/**
 * What a job waits for: a pause (`kind` as in `pause-list`), or the receiver of the push `name`, with
 * its last `error`, since when it fails and the next attempt, or a `reader` of the group `name`:
 * `since`, `by` are those of the last read.
 */
export const jobWaitSchema = z.object({
  kind: z.string(),
  name: z.string(),
  gateway: z.string().exactOptional(),
  since: z.number().exactOptional(),
  by: z.string().exactOptional(),
  until: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  error: z.string().exactOptional(),
  nextAt: z.number().exactOptional(),
})
export type JobWait = z.infer<typeof jobWaitSchema>

/** A message or event that a job queued. `error`: of its last attempt. `nextAt`: of the next one. */
export type JobMessage = {
  id: string
  queue: string
  outcome: string
  text?: string
  error?: string
  nextAt?: number
  pausedBy?: readonly { kind: string; name: string }[]
  budget?: string
  later?: LaterAction
}

/**
 * A message or event of `job-items`, with its present outcome. `at`: publication of an event;
 * `deliveredAt`: its delivery by this job, if its attempt is still kept; `endedAt`: the end of the work
 * on a retried message. Unix ms.
 */
export type JobItem = JobMessage & { at?: number; deliveredAt?: number; endedAt?: number }
/** A page of `job-items`. A page with `next` may be empty. */
export type JobItems = { items: JobItem[]; next?: string }

/**
 * That a message which failed again was retried or dropped, and by which job, if by one; or that an
 * event which was withdrawn was replayed by a later job. `delivered`: that job has delivered all its
 * events, or its group has read them. `now`: the present outcome of the message, if it is known.
 */
export const laterActionSchema = z.object({
  do: z.enum(['retry', 'drop', 'replay']),
  job: z.string().exactOptional(),
  delivered: z.literal(true).exactOptional(),
  now: z.string().exactOptional(),
})
export type LaterAction = z.infer<typeof laterActionSchema>
/** `withdrawn`: they were dead letters again because the job was cancelled. */
export type LaterActions = LaterAction & { count: number; withdrawn?: true }

/**
 * The messages or events of a job with one outcome and cause. `error`: the last one, with `…` for the
 * numbers that differ. `nextAt`: the earliest next attempt. `code`, `pattern`, `queue`, `group`: the
 * filter of their dead letters. Erased ones have no `example`.
 */
export const jobGroupSchema = z.object({
  outcome: z.string(),
  count: z.number(),
  error: z.string().exactOptional(),
  nextAt: z.number().exactOptional(),
  queue: z.string().exactOptional(),
  group: z.string().exactOptional(),
  code: z.string().exactOptional(),
  pattern: z.string().exactOptional(),
  later: laterActionSchema.exactOptional(),
  example: z.object({ id: z.string(), text: z.string().exactOptional() }).exactOptional(),
})
export type JobGroup = z.infer<typeof jobGroupSchema>

/** A cause in a list of jobs. `isOver`: its messages were retried or dropped since. */
export type JobCause = { error: string; pattern?: string; nextAt?: number; isOver?: true }

/**
 * Event counts of a replay to a pulled group. `read` is absent if another replay shares the events,
 * or if more wait than were counted. For a cancelled replay: the events that were `withdrawn`, and
 * those `leased` by a reader.
 */
export type ReplayReads = { read?: number; waiting: number; withdrawn?: number; leased?: number }

/**
 * Counts of the events of one replay; `waiting` ones have not been accepted yet, and `removed` ones
 * were erased, skipped or taken out of the queue before. Of a cancelled one: those that were
 * `withdrawn`, or `interrupted`: being sent, and not tried again.
 */
export type ReplayOutcomes = {
  delivered: number
  waiting: number
  dead: number
  removed?: number
  withdrawn?: number
  interrupted?: number
}
