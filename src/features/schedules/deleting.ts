import type { ActivityEntry } from '../../core/activity.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Schedule } from '../../core/schedule.ts'
import { aboutSchedule, type ScheduleState } from './about.ts'
import type { createFileSchedules } from './file-schedules.ts'

/** Makes the function that deletes a schedule and, by `forget`, its data. */
export function createScheduleDeletion(deps: {
  state: ScheduleState
  file: Pick<ReturnType<typeof createFileSchedules>, 'has'>
  isVisible(call: Call): (schedule: Schedule) => boolean
  /** Throws `not_found`. */
  require(id: string, call: Call): Promise<Schedule>
  forget(gone: Schedule): Promise<unknown>
  record(entry: ActivityEntry): Promise<void>
}) {
  const { state, file, isVisible, require, forget, record } = deps

  return async ({ id }: { id: string }, call: Call) => {
    if (file.has(id)) {
      await require(id, call)
      const todo = 'remove it there, or pause it'
      throw new TriviumError('usage', { details: `Schedule ${id} is defined in routes.yaml; ${todo}.` })
    }
    const { made: gone } = await state.update((draft) => {
      const found = draft.schedules.filter(isVisible(call)).find((one) => one.id === id)
      draft.schedules = draft.schedules.filter((one) => one !== found)
      return found
    })
    if (gone) {
      await forget(gone)
      await record({ event: 'schedule_deleted', ...aboutSchedule(gone) })
    }
    return { ok: true, existed: gone !== undefined }
  }
}
