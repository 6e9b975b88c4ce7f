import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { cursorKey, type ScheduleKey } from './about.ts'
import { createScheduleFailures } from './failures.ts'
import type { createLastRuns } from './last-runs.ts'
import type { createRunReports } from './run-reports.ts'
import type { createSchedulePauses } from './schedule-pauses.ts'

/**
 * A schedule without further planned times is removed. For this long (ms), its last run can still
 * start: late, if its skill is paused, or if somebody retries its dead letter.
 */
const OVER_RETENTION = 90 * DAY

/** The key that marks a schedule that was removed because it has no more planned times. */
const overKey = ({ id, created }: ScheduleKey) => `schedule-over:${id}:${created}`

/** The data in the store about each schedule: its cursor, last run, reports, failure and pause. */
export function createScheduleData(deps: {
  kv: KeyValues
  runs: Pick<ReturnType<typeof createLastRuns>, 'forget'>
  reports: Pick<ReturnType<typeof createRunReports>, 'forget'>
  pauses: Pick<ReturnType<typeof createSchedulePauses>, 'end'>
  now: () => number
}) {
  const { kv, runs, reports, pauses } = deps
  const failures = createScheduleFailures(kv, deps.now)
  const forgetProgress = (schedule: ScheduleKey) =>
    Promise.all([kv.delete(cursorKey(schedule)), runs.forget(schedule), reports.forget(schedule)])
  return {
    /**
     * Forgets a schedule that was deleted (`isGone`), or whose rule has changed. A changed one
     * stays paused.
     */
    forget: (schedule: ScheduleKey, isGone: boolean) =>
      Promise.all([forgetProgress(schedule), failures.ended(schedule), isGone && pauses.end(schedule.id)]),
    /**
     * Called before a schedule without further planned times is removed. Its last run can still
     * start then.
     */
    markOver: (schedule: ScheduleKey) => kv.set(overKey(schedule), true, { ttl: OVER_RETENTION }),
    /** Whether a schedule was removed because it has no more planned times. */
    isOver: async (schedule: ScheduleKey) => (await kv.get(overKey(schedule))) !== undefined,
    /** Forgets a schedule after `markOver`. A failure of its last run is still reported. */
    forgetOver: (schedule: ScheduleKey) => Promise.all([forgetProgress(schedule), pauses.end(schedule.id)]),
  }
}
