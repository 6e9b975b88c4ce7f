import type { Event } from '../core/event.ts'
import { timeOf } from '../core/message-id.ts'
import type { Store } from '../core/store.ts'
import type { EventRange } from './event-range.ts'
import { boundary } from './topic-boundary.ts'

/**
 * The part of a partition that a range covers. Ids, and the times in them, ascend with the
 * positions.
 */
export async function partOf(topics: Store['topics'], topic: string, partition: number, range: EventRange) {
  const end = await topics.end(topic, partition)
  const isBefore = (event: Event) =>
    timeOf(event.id) < (range.since ?? 0) || (range.from !== undefined && event.id < range.from)
  const isNotAfter = (event: Event) =>
    timeOf(event.id) < (range.until ?? Number.POSITIVE_INFINITY) &&
    (range.to === undefined || event.id <= range.to)
  const before = await boundary(topics, topic, partition, end, isBefore)
  const last = await boundary(topics, topic, partition, end, isNotAfter)
  // Events that retention has deleted are not part of the range.
  const [first] = (await topics.tail(topic, before, 1, partition)).items
  const deletedTo = (first?.position ?? end + 1) - 1
  const after = Math.max(before, Math.min(deletedTo, last))
  return { after, last: Math.max(after, last) }
}
