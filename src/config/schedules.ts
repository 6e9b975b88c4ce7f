import { z } from 'zod'
import { requireOwnFormat } from '../core/cron-format.ts'
import { reasonOf } from '../core/errors.ts'
import { plannedTimes } from '../core/planned-times.ts'
import { fileScheduleSchema } from '../features/schedules/schema.ts'
import { defined } from '../lib/defined.ts'
import type { Checker } from './checker.ts'
import { findSkill } from './find-skill.ts'
import type { RouteContext } from './routes.ts'
import { checkArgs } from './skill-args.ts'
import { createUniqueNames } from './unique-names.ts'
import type { Path, Problem } from './yaml-file.ts'

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
