import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { HOUR } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'

/** An ended run of a skill. `at`: the end (Unix ms). `code`: of the error, if it failed. */
type SkillRun = { at: number; ms: number; by: string; code?: string }
/** A run of a schedule. Times are Unix ms. `planned` is absent for a run by hand. */
export type ScheduleRun = { planned?: number; startedAt: number; endedAt?: number; outcome: string }

/** A start that is later than this (ms) after a planned time is not its run. */
const LATEST = 2 * HOUR

/**
 * The known runs of a schedule, newest first. `newest`: the report of the newest run. The planned times of the others follow from
 * the schedule: a time belongs to the first run that began after it.
 */
export function pastRuns(
  schedule: Schedule,
  runs: readonly SkillRun[],
  newest: ScheduleRun | undefined,
): ScheduleRun[] {
  const older = runs
    .filter(({ by }) => by === `schedule ${schedule.id}`)
    .map(({ at, ms, code }) => ({ startedAt: at - ms, endedAt: at, outcome: code ? 'failed' : 'done' }))
    .filter(({ startedAt }) => newest === undefined || startedAt < newest.startedAt)
    .toSorted((a, b) => a.startedAt - b.startedAt)
  const { last } = plannedTimes(schedule)
  const taken = new Set(newest?.planned === undefined ? [] : [newest.planned])
  const known = older.map((run): ScheduleRun => {
    const planned = last(run.startedAt)
    const isOfRun = planned !== undefined && run.startedAt - planned < LATEST && !taken.has(planned)
    if (!isOfRun || planned < Date.parse(schedule.created)) return run
    taken.add(planned)
    return { planned, ...run }
  })
  return [...(newest ? [newest] : []), ...known.toReversed()].map(defined)
}
