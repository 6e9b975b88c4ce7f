import type { Schedule } from '../../core/schedule.ts'

/** Names one schedule for good: an id may come again. */
export type Place = Pick<Schedule, 'id' | 'created'>

/** Where it is kept up to which planned time a schedule is handled. */
export function placeOf({ id, created }: Place): string {
  return `schedule-cursor:${id}:${created}`
}

/** What a line of the trace says of a schedule. */
export function aboutSchedule({ channel, id, name, by }: Schedule) {
  return { channel, schedule: id, name, ...(by && { owner: by.id }) }
}

/** What is kept of schedules, and the number that the next one gets. */
type Kept = { schedules: Schedule[]; next_ids: Record<string, number> }

/** The document that holds them, with whatever else is in it. */
export type ScheduleState = {
  load(): Promise<{ document: Kept }>
  update<T>(mutate: (draft: Kept) => T): Promise<{ made: T }>
}
