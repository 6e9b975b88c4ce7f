import type { Event } from '../core/event.ts'
import { makeId, randomTail } from '../core/message-id.ts'
import type { GroupBatch } from '../core/store.ts'

/** A group that fell behind retention is told so by an event of its own, before what is still there. */
export function withGap(topic: string, batch: GroupBatch, at: number): Event[] {
  if (batch.missed === 0) return batch.events
  const gap: Event = {
    id: makeId(at, 0, randomTail()),
    topic,
    type: 'gap',
    source: 'trivium',
    data: { missed: batch.missed },
    timestamp: at,
  }
  return [gap, ...batch.events]
}
