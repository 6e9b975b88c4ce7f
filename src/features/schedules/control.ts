import { randomUUID } from 'node:crypto'
import type { ActivityEntry } from '../../core/activity.ts'
import type { Schedule } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import type { Services } from '../../core/services.ts'
import type { KeyValues } from '../../core/store.ts'
import { aboutSchedule, placeOf } from './about.ts'
import type { Occasion } from './firing.ts'
import type { createSchedulePauses } from './marks.ts'

/** `schedule-run`, `schedule-pause` and `schedule-resume`, whoever made the schedule. */
export function createScheduleControl(deps: {
  kv: KeyValues
  pauses: ReturnType<typeof createSchedulePauses>
  /** Throws `not_found` where there is none that the call may see. */
  require(id: string, call: Call): Promise<Schedule>
  permit(skill: string, call: Call): Promise<void>
  fire(occasion: Occasion): Promise<void>
  record(entry: ActivityEntry): Promise<void>
  now: () => number
}) {
  const { pauses, require, record, now } = deps
  return {
    async run({ id, key: given = randomUUID() }, call) {
      const schedule = await require(id, call)
      await deps.permit(schedule.skill, call)
      const key = `${id}:${schedule.created}:run:${given}`
      const planned = now()
      await deps.fire({ key, schedule, planned, missed: 0 })
      await record({ event: 'schedule_run', ...aboutSchedule(schedule), key: given })
      return { ok: true, id, key: given }
    },
    async pause({ id }, call) {
      const schedule = await require(id, call)
      await pauses.add(id)
      await record({ event: 'schedule_paused', ...aboutSchedule(schedule) })
      return { ok: true, id, paused: true }
    },
    async resume({ id }, call) {
      const schedule = await require(id, call)
      const { [id]: paused } = await pauses.read()
      if (!paused) return { ok: true, id, paused: false }
      // In this order: what passed while it was paused is gone, whatever happens in between.
      await deps.kv.set(placeOf(schedule), now())
      await pauses.end(id)
      await record({ event: 'schedule_resumed', ...aboutSchedule(schedule) })
      return { ok: true, id, paused: false }
    },
  } satisfies Pick<Services['schedules'], 'run' | 'pause' | 'resume'>
}
