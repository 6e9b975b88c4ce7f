import { type Erasing, readParts } from '../core/erasing.ts'
import { timeIn, timeOf } from '../core/message-id.ts'

/** Where the events that a group has read wait as jobs: the queue, and how their ids begin. */
export type EventQueue = { queue: string; prefix: string }

/** Maximum number of jobs that are searched for events. */
const MOST_JOBS = 100_000

/** The event of the job of a delivery (see `deliveryId`), or of its dead letter. */
export function eventOfDelivery(id: string, prefix: string): string | undefined {
  return id.startsWith(prefix) ? id.slice(prefix.length).replace(/\.\d+$/, '') : undefined
}

/** Whether a replay sends the event of a delivery again. */
export function isReplayedDelivery(id: string, prefix: string): boolean {
  const event = eventOfDelivery(id, prefix)
  return event !== undefined && (timeIn(id) ?? 0) > timeOf(event)
}

/** The events that wait as jobs of a queue. `isCut`: there may be more. */
export async function queuedEvents(erasing: Pick<Erasing, 'jobs'>, { queue, prefix }: EventQueue) {
  const ids = new Set<string>()
  let seen = 0
  for await (const jobs of readParts((after) => erasing.jobs(after, { queue }))) {
    for (const { id } of jobs) {
      const event = eventOfDelivery(id, prefix)
      if (event !== undefined) ids.add(event)
    }
    seen += jobs.length
    if (seen >= MOST_JOBS) return { ids, isCut: true }
  }
  return { ids, isCut: false }
}
