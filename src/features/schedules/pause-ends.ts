import type { ActivityEntry } from '../../core/activity.ts'
import { isOver } from '../../core/pause-record.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { aboutSchedule, cursorKey } from './about.ts'
import { type createSchedulePauses, type PausedSchedules, pauseOf } from './schedule-pauses.ts'

/**
 * Returns the function that ends the pauses that are over, and resolves with the other ones. Times
 * during a pause do not run: a schedule continues after the end of its pause, also if no daemon ran
 * then.
 */
export function createPauseEnds(deps: {
  kv: Pick<KeyValues, 'set'>
  pauses: Pick<ReturnType<typeof createSchedulePauses>, 'read' | 'end'>
  record(entry: ActivityEntry): Promise<void>
  now(): number
}) {
  const { kv, pauses, record, now } = deps
  return async (schedules: readonly Schedule[]): Promise<PausedSchedules> => {
    const paused = await pauses.read()
    const over = schedules.flatMap((schedule) => {
      const pause = pauseOf(paused, schedule.id)
      return pause?.until !== undefined && isOver(pause, now()) ? [{ schedule, until: pause.until }] : []
    })
    if (over.length === 0) return paused
    for (const { schedule, until } of over) {
      // The cursor moves first: even after a crash in between, no time during the pause is run.
      await kv.set(cursorKey(schedule), until)
      const isEnded = await pauses.end(schedule.id, until)
      if (isEnded) await record({ event: 'schedule_resumed', ...aboutSchedule(schedule) })
    }
    return pauses.read()
  }
}
