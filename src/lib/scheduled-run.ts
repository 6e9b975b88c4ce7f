import { dayAndTime } from './utc-time.ts'

/** A run of a schedule. `planned`: the time (Unix ms) at which it was due; absent if it was started by hand. */
export type ScheduledRun = { schedule: string; planned?: number }

const RUN = /^(?<schedule>.+):\d{4}-\d\d-\d\dT[\d:.]+Z:(?:(?<planned>\d+)|run:.*)$/s

/** The run that a job of the queue of schedules is for; undefined for other jobs. */
export function scheduledRun({ queue, id }: { queue: string; id: string }): ScheduledRun | undefined {
  const { schedule, planned } = (queue === 'schedules' && RUN.exec(id)?.groups) || {}
  if (schedule === undefined) return undefined
  return { schedule, ...(planned !== undefined && { planned: Number(planned) }) }
}

/** `ledger-export, planned 2026-11-29 15:33 UTC`; undefined for other jobs. */
export function scheduledRunText(job: { queue: string; id: string }): string | undefined {
  const run = scheduledRun(job)
  if (!run) return undefined
  return `${run.schedule}, ${run.planned === undefined ? 'started by hand' : `planned ${dayAndTime(run.planned)}`}`
}
