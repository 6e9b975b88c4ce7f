import { z } from 'zod'
import { requireOwnFormat } from '../core/cron-format.ts'
import { reasonOf } from '../core/errors.ts'
import { jsonObjectSchema } from '../core/json.ts'
import { plannedTimes } from '../core/planned-times.ts'
import { scheduleSchema, stepSchema } from '../core/schedule.ts'
import { duration } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { isTimeZone } from '../lib/time-zone.ts'
import type { Checker } from './checker.ts'
import { findSkill } from './find-skill.ts'
import type { RouteContext } from './routes.ts'
import { checkArgs } from './skill-args.ts'
import { createUniqueNames } from './unique-names.ts'
import type { Path, Problem } from './yaml-file.ts'

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

/** One entry of `schedules:`. */
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

/** A schedule of the file. `expired`: the warning if it has no future time any more. */
export type FileSchedule = Omit<z.output<typeof fileScheduleSchema>, 'at'> & { expired?: Problem }

/**
 * Parses `schedules:`. A past time is only a warning, so that the file still works a year later.
 */
export function parseSchedules(raw: unknown, context: RouteContext, checker: Checker): FileSchedule[] {
  const items = checker.parse(z.array(z.unknown()), raw ?? [], ['schedules']) ?? []
  const requireUnique = createUniqueNames('schedules', checker)
  return items.flatMap((item, index): FileSchedule[] => {
    const path = ['schedules', index]
    const read = checker.section(fileScheduleSchema, item, path)
    if (!read) return []
    const report = (key: string, message: string) => checker.report([...path, key], 'value', message)
    const { at, ...rest } = read
    const schedule = { ...rest, ...defined({ cron: at ?? rest.cron }) }
    requireUnique(read.name, path)
    checkSkill(read, path, context, checker)
    const next = nextOf(schedule)
    if (next.error !== undefined) report(at === undefined ? 'cron' : 'at', next.error)
    else if (next.at === undefined && !mayEnd(schedule.cron)) report('cron', 'this never comes')
    else if (next.at === undefined) {
      const expired = reportExpired([...path, at === undefined ? 'cron' : 'at'], checker)
      return [{ ...schedule, ...defined({ expired }) }]
    }
    return [schedule]
  })
}

/** Fields of a cron expression with seconds and a year. */
const FIELDS_WITH_YEAR = 7

/** Whether a schedule may end: a single time, or a cron expression with a year. */
function mayEnd(cron = ''): boolean {
  if (/^\d{4}-/.test(cron)) return true
  return cron.split(' | ').every((one) => one.trim().split(/\s+/).length === FIELDS_WITH_YEAR)
}

/** Adds the warning about a time in the past, and returns it. */
function reportExpired(path: Path, checker: Checker): Problem | undefined {
  const message = 'this time has passed: the schedule will not run'
  checker.report(path, 'value', message, 'warning')
  return checker.problems.at(-1)
}

/**
 * The next time of a schedule (Unix ms), absent if it has none; or why its times cannot be
 * computed.
 */
function nextOf(schedule: Omit<FileSchedule, 'over'>): { at?: number | undefined; error?: string } {
  const now = Date.now()
  try {
    requireOwnFormat(schedule.cron ?? '')
    return { at: plannedTimes({ ...schedule, created: new Date(now).toISOString() }).next(now) }
  } catch (error) {
    const reason = reasonOf(error)
    return { error: reason.charAt(0).toLowerCase() + reason.slice(1) }
  }
}

/** Reports an unknown skill, and invalid arguments: a schedule has no message to supply others. */
function checkSkill(
  { skill: name, args }: Pick<FileSchedule, 'skill' | 'args'>,
  path: Path,
  { skills, servers }: RouteContext,
  checker: Checker,
): void {
  if (!skills) return
  const skill = findSkill(name, path, { skills, servers }, checker)
  if (!skill) return
  checkArgs(skill, args, path, checker, true)
}
