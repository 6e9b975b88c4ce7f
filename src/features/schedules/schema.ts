import { z } from 'zod'
import { jsonObjectSchema } from '../../core/json.ts'
import { scheduleSchema, stepSchema } from '../../core/schedule.ts'
import { duration } from '../../core/units.ts'
import { isTimeZone } from '../../lib/time-zone.ts'

const ONE_TIME = 'give one of `cron`, `every` and `at`'
const MISFIRE_HINT = 'expected skip, once, or { within: 5m }'

const misfire = z.union(
  [
    z.enum(['skip', 'once']),
    z.strictObject({
      within: duration.describe('Run once if the newest missed time is not older than this.'),
    }),
  ],
  { error: MISFIRE_HINT },
)

/** An entry of `schedules:` in routes.yaml. */
export const fileScheduleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][\w.-]{0,63}$/i, 'expected letters, digits, and _ . - inside')
      .refine(
        (name) => !/^schedule-\d+$/i.test(name),
        'names such as schedule-1 are reserved for schedules that people create',
      )
      .describe('Name of the schedule.'),
    cron: z
      .string()
      .min(1)
      .exactOptional()
      .describe('Cron expression, such as "0 9 * * 1-5"; several are separated by " | ".'),
    every: duration
      .refine((ms) => ms >= 1000, 'expected a duration of at least 1s, such as 30s or 1h')
      .exactOptional()
      .describe('How often: 30s, 15m, 1d; at least 1s.'),
    at: z
      .string()
      .regex(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?$/,
        'expected a time such as 2026-12-24T18:00',
      )
      .exactOptional()
      .describe('Once: 2026-12-24T18:00, in `timezone` unless it names an offset.'),
    step: stepSchema.exactOptional().describe('Only every second, third, … day, week or month of the cron.'),
    timezone: z
      .string()
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .default('UTC')
      .describe('Time zone of `cron` and `at`.'),
    skill: z.string().min(1).describe('The skill to run.'),
    args: jsonObjectSchema.default({}).describe('The arguments of the skill.'),
    overlap: scheduleSchema.shape.overlap
      .unwrap()
      .default('queue')
      .describe(
        'When a run is due while the previous one is still running: queue it, skip it, or allow both.',
      ),
    misfire: misfire
      .default('once')
      .describe(
        'Times that were missed while no daemon was running: skip them, run once, or { within: 5m }. Default: once.',
      ),
  })
  .refine(
    ({ cron, every, at }) => [cron, every, at].filter((each) => each !== undefined).length === 1,
    ONE_TIME,
  )
  .refine(({ cron, step }) => step === undefined || cron !== undefined, {
    error: '`step` requires `cron`',
    path: ['step'],
  })
