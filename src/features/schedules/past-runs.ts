import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { HOUR } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import type { RunReport } from './run-reports.ts'

/**
 * The newest ended runs of a skill, newest first. `at`: the end (Unix ms). `code` and `error`: if
 * it failed.
 */
export type SkillRuns = (
  skill: string,
) => Promise<readonly { at: number; ms: number; by: string; code?: string; error?: string }[]>

/**
 * A run of a schedule. Times are Unix ms. `planned` is absent for a run that somebody started.
 * `manual`: its report says that somebody started it.
 */
export type ScheduleRun = {
  planned?: number
  startedAt: number
  endedAt?: number
  outcome: string
  error?: string
  manual?: true
}

/** A run that began later than this (ms) after a planned time does not belong to that time. */
const MAX_DELAY = 2 * HOUR
/** Number of planned times of `schedule-show`. */
const UPCOMING = 5

/** The next planned times of a schedule (Unix ms). */
export function upcomingOf(schedule: Schedule, now: number): number[] {
  const { next } = plannedTimes(schedule)
  const times: number[] = []
  for (let at = next(now); at !== undefined && times.length < UPCOMING; at = next(at)) times.push(at)
  return times
}

/**
 * The known runs of a schedule, newest first. `recorded`: the reported ones, newest first. Runs
 * before them have no stored planned time. It follows from the schedule: a planned time belongs to
 * the first run that began after it.
 */
export function pastRuns(
  schedule: Schedule,
  runs: Awaited<ReturnType<SkillRuns>>,
  recorded: readonly RunReport[],
): ScheduleRun[] {
  const first = recorded.at(-1)
  const older = runs
    .filter(({ by }) => by === `schedule ${schedule.id}`)
    .map(earlierRun)
    .filter(({ startedAt }) => first === undefined || startedAt < first.startedAt)
    .toSorted((a, b) => a.startedAt - b.startedAt)
  const { last } = plannedTimes(schedule)
  const taken = new Set(recorded.map(({ planned }) => planned))
  const known = older.map((run): ScheduleRun => {
    const planned = last(run.startedAt)
    const isOfRun = planned !== undefined && run.startedAt - planned < MAX_DELAY && !taken.has(planned)
    if (!isOfRun || planned < Date.parse(schedule.created)) return run
    taken.add(planned)
    return { planned, ...run }
  })
  return [...recorded.map(recordedRun), ...known.toReversed()]
}

function earlierRun({ at, ms, code, error }: Awaited<ReturnType<SkillRuns>>[number]): ScheduleRun {
  const times = { startedAt: at - ms, endedAt: at }
  return { ...times, outcome: code === undefined ? 'done' : 'failed', ...defined({ error }) }
}

function recordedRun({ planned, ...run }: RunReport): ScheduleRun {
  return run.manual ? run : { planned, ...run }
}
