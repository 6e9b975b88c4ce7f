import type { Schedule } from '../../core/schedule.ts'

/** Identifies a schedule. The id alone does not: it can be reused. */
export type ScheduleKey = Pick<Schedule, 'id' | 'created'>

/** The key in the store of a schedule's cursor: the last planned time that was handled. */
export function cursorKey({ id, created }: ScheduleKey): string {
  return `schedule-cursor:${id}:${created}`
}

/** The fields that identify a schedule in entries of the activity log. */
export function aboutSchedule({ channel, id, name, by }: Schedule) {
  return { channel, schedule: id, name, ...(by && { owner: by.id }) }
}

/** Stored schedules, and the number of the next one. */
type ScheduleDocument = { schedules: Schedule[]; next_ids: Record<string, number> }

/** The document that contains the schedules; it may have other content. */
export type ScheduleState = {
  load(): Promise<{ document: ScheduleDocument }>
  update<T>(mutate: (draft: ScheduleDocument) => T): Promise<{ made: T }>
}
