import { z } from 'zod'
import { JOB_STATES } from './job-operations.ts'

/** Work that takes long, as operators see it. Times are Unix ms; it is kept for a week after its end. */
export const longJobSchema = z.object({
  id: z.string(),
  /** `replay`, `person-erase`. */
  kind: z.string(),
  state: z.enum(JOB_STATES),
  /** Who asked for it. */
  by: z.string(),
  startedAt: z.number(),
  updatedAt: z.number(),
  endedAt: z.number().exactOptional(),
  /** What it works on: names and times, nothing about a person. */
  target: z.record(z.string(), z.json()),
  /** How much of `total` is done; `total` is an estimate until the end. */
  done: z.number(),
  total: z.number(),
  /** Where it is, where it has several parts. */
  at: z.string().exactOptional(),
  result: z.json().exactOptional(),
  /** Why it failed, or why its last step did and is tried again. */
  error: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  /** When it is tried again after that error. */
  retryAt: z.number().exactOptional(),
})

export type LongJob = z.infer<typeof longJobSchema>
