import { z } from 'zod'
import { askedBySchema } from './asked-by.ts'
import { isoTime } from './iso-time.ts'

const nonEmpty = z.string().min(1)

/** `2 weeks`: every second week, counted from the week of the first run. */
export const stepSchema = z
  .string()
  .regex(/^([2-9]|[1-9]\d{1,2}) (days|weeks|months)$/, 'expected "2 weeks", "3 days" or "6 months"')

/**
 * A stored schedule: `cron` (5 to 7 fields, several joined by ` | `, or one ISO 8601 time) in
 * `timezone`, or `every` n ms since `created`. `step`: only every nth day, week or month of the
 * cron expression counts.
 */
export const scheduleSchema = z.strictObject({
  id: z.string(),
  name: nonEmpty,
  cron: z.string().exactOptional(),
  every: z.int().min(1000).exactOptional(),
  step: stepSchema.exactOptional(),
  timezone: z.string(),
  /**
   * How to handle missed runs. `skip`: drop them. `once`: run the newest. `within` (ms): run the
   * newest unless it is older than that.
   */
  misfire: z.union([z.enum(['skip', 'once']), z.strictObject({ within: z.int().min(0) })]),
  skill: nonEmpty,
  args: z.record(z.string(), z.json()),
  channel: z.string(),
  created: isoTime,
  /**
   * Creator, and their roles at creation. The skill runs with the rights they have at run time.
   * Absent: an operator.
   */
  by: z.strictObject({ id: z.string(), roles: z.array(z.string()) }).exactOptional(),
  /**
   * How to handle a run that is due while the last one is still running. `queue` (the default): it
   * waits. `skip`: it is dropped. `allow`: both run.
   */
  overlap: z.enum(['queue', 'skip', 'allow']).exactOptional(),
  /** Absent if an operation created it. */
  source: z.literal('routes.yaml').exactOptional(),
  /** The recipient of the skill's results. */
  askedBy: askedBySchema.exactOptional(),
  /**
   * The recipient of a notification, sent once when a run becomes a dead letter, if there is no
   * `askedBy`.
   */
  onFailure: askedBySchema.exactOptional(),
})
export type Schedule = z.infer<typeof scheduleSchema>
