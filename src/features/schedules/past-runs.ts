import { hash } from 'node:crypto'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { HOUR } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { manualKey, plannedKey } from './firing.ts'
import type { LateBecause } from './late-because.ts'
import type { RunReport } from './run-reports.ts'

/** The last ended runs of a skill, newest first. `at`: its end (Unix ms). */
export type SkillRuns = (
  skill: string,
) => Promise<readonly { at: number; ms: number; by: string; code?: string; error?: string }[]>

/** A run of a schedule. Times are Unix ms. */
export type ScheduleRun = {
  /** The same in each list. */
  id: string
  /** Absent for a run that somebody started. */
  planned?: number
  startedAt: number
  endedAt?: number
  outcome: string
  error?: string
  /** The beginning of what the skill returned. Only the newest runs have it. */
  result?: string
  /** Why it began late, if that is known. */
  lateBecause?: LateBecause
  /** Whether somebody started it. Absent for runs before the first reported one. */
  manual?: true
  /** Who started it. */
  by?: string
  /** The dead letter of a run that failed, as long as it is neither retried nor dropped. */
  letter?: string
}

/** A run that began later than this (ms) after a planned time does not belong to that time. */
const MAX_DELAY = 2 * HOUR
/** Number of planned times that `schedule-show` returns. */
const UPCOMING = 5

/** The next planned times of a schedule (Unix ms). */
export function upcomingOf(schedule: Schedule, now: number): number[] {
  const { next } = plannedTimes(schedule)
  const times: number[] = []
  for (let at = next(now); at !== undefined && times.length < UPCOMING; at = next(at)) times.push(at)
  return times
}

/**
 * The known runs of a schedule, newest first. `runs`: those of its skill. `reported`: the reported
 * runs of the schedule, newest first. Older runs have no stored planned time; it follows from the
 * schedule: a planned time belongs to the first run that began after it.
 */
export function pastRuns(
  schedule: Schedule,
  runs: Awaited<ReturnType<SkillRuns>>,
  reported: readonly RunReport[],
): ScheduleRun[] {
  const first = reported.at(-1)
  const older = runs
    .filter(({ by }) => by === `schedule ${schedule.id}`)
    .map((run) => earlierRun(schedule, run))
    .filter(({ startedAt }) => first === undefined || startedAt < first.startedAt)
    .toSorted((a, b) => a.startedAt - b.startedAt)
  const { last } = plannedTimes(schedule)
  const taken = new Set(reported.map(({ planned }) => planned))
  const known = older.map((run): ScheduleRun => {
    const planned = last(run.startedAt)
    const isOfRun = planned !== undefined && run.startedAt - planned < MAX_DELAY && !taken.has(planned)
    if (!isOfRun || planned < Date.parse(schedule.created)) return run
    taken.add(planned)
    return { planned, ...run }
  })
  return [...reported.map((run) => reportedRun(schedule, run)), ...known.toReversed()]
}

/** Number of hexadecimal digits of the id of a run. */
const ID_LENGTH = 8

function idOf(key: string): string {
  return hash('sha256', key).slice(0, ID_LENGTH)
}

function earlierRun(
  schedule: Schedule,
  { at, ms, code, error }: Awaited<ReturnType<SkillRuns>>[number],
): ScheduleRun {
  const times = { startedAt: at - ms, endedAt: at }
  const outcome = code === undefined ? 'done' : 'failed'
  return { id: idOf(plannedKey(schedule, times.startedAt)), ...times, outcome, ...defined({ error }) }
}

function reportedRun(schedule: Schedule, { planned, key, ...run }: RunReport): ScheduleRun {
  const job = key === undefined ? plannedKey(schedule, planned) : manualKey(schedule, key)
  const id = idOf(job)
  const letter = run.outcome === 'failed' && (key !== undefined || !run.manual) ? job : undefined
  return { id, ...(run.manual ? {} : { planned }), ...run, ...defined({ letter }) }
}
