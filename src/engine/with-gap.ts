import type { Event } from '../core/event.ts'
import { makeId } from '../core/message-id.ts'
import type { GroupBatch, GroupRead } from '../core/store.ts'

/**
 * Adds a gap event before the remaining events of a group that fell behind retention. Peeks repeat
 * it, with the same id while nothing changes, until it is acknowledged.
 */
export function withGap(topic: string, batch: GroupBatch, now: number, mode: GroupRead['mode']): Event[] {
  const { items: events, missed } = batch
  if (missed === 0) return events
  const isPeek = mode === 'peek'
  const timestamp = (isPeek && events[0]?.timestamp) || now
  const id = makeId(timestamp, 0, isPeek ? missed : 0)
  return [{ id, topic, type: 'gap', source: 'trivium', data: { missed }, timestamp }, ...events]
}
