import { z } from 'zod'
import { closed, name, open, optional, pauseEnd, pauseReason } from '../../core/arguments.ts'
import { jsonObjectSchema } from '../../core/json.ts'
import { stepSchema } from '../../core/schedule.ts'
import { parseDuration } from '../../core/units.ts'

const interval = name
  .transform((text) => parseDuration(text) ?? 0)
  .refine((ms) => ms >= 1000, 'expected a duration of at least 1s, such as 30s or 1h')
const schedule = name.describe('The schedule: schedule-1, or its name in routes.yaml')

/**
 * `schedule-…`: the caller's own schedules; operators reach all. All but `create` and `list` throw
 * `not_found`.
 */
export const schedules = {
  /**
   * Throws `usage`, `skill_not_found`, `skill_args_invalid`, `limit_reached`, and `forbidden` for a
   * message whose sender is not verified.
   */
  create: closed({
    skill: name.describe('The skill to run'),
    name: optional('A name for people; default: that of the skill'),
    cron: optional('Cron expression, such as "0 9 * * 1-5"; several are separated by " | "'),
    step: stepSchema.exactOptional().describe('Only every nth day, week or month of the cron: 2 weeks'),
    every: interval.exactOptional().describe('Interval: 30s, 15m, 1d'),
    at: optional('A single time: 2026-12-24T18:00, in `timezone` unless it has an offset'),
    timezone: optional('Time zone of cron and at, such as Europe/Berlin; default UTC'),
    overlap: z
      .enum(['queue', 'skip', 'allow'])
      .exactOptional()
      .describe('If a run is due while the previous one still runs: queue (default), skip, or allow both'),
    misfire: z
      .string()
      .default('once')
      .describe(
        'Runs missed while no daemon was running: skip, run the newest late (once), or only within: 5m',
      ),
    args: jsonObjectSchema.default({}).describe('Arguments for the skill'),
  }).describe('Runs a skill by cron or interval, once per planned time, with the rights of its creator.'),
  list: open({}).describe('Lists your schedules with the next planned time of each (in JSON: Unix ms).'),
  show: open({
    id: schedule,
    run: optional('Only the run with this id, with its whole error or result'),
  }).describe('Shows one schedule with its next planned time (in JSON: Unix ms).'),
  /** Throws `usage` for a schedule of routes.yaml. */
  delete: open({ id: name.describe('The schedule, such as schedule-1') }).describe('Deletes a schedule.'),
  run: open({
    id: schedule,
    key: optional('Idempotency key: runs once per key'),
  }).describe('Runs a schedule now, in addition to its planned times, even if it is paused.'),
  pause: open({ id: schedule, for: pauseEnd, reason: pauseReason }).describe(
    'Pauses a schedule: planned times are skipped.',
  ),
  resume: open({ id: schedule }).describe(
    'Resumes a schedule from its next planned time; skipped runs are not made up.',
  ),
}
