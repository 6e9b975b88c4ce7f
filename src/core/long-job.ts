import { z } from 'zod'

export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const

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
})

/**
 * A job as it is shown. A replay to a push has the `outcomes` of its events so far
 * (`ReplayOutcomes`), and a retry of dead letters those of its messages, by name.
 */
export type LongJob = z.infer<typeof longJobSchema> & { outcomes?: Readonly<Record<string, number>> }

/** Counts of the events of one replay; `waiting` ones have not been accepted yet. */
export type ReplayOutcomes = { delivered: number; waiting: number; dead: number }
