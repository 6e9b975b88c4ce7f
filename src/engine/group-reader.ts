import type { Event } from '../core/event.ts'
import type { GroupBatch, GroupRead, Store } from '../core/store.ts'
import { type Batcher, createBatcher } from '../lib/batch.ts'
import { createEventFilter } from './event-filter.ts'
import type { GroupDeliveries } from './group-deliveries.ts'
import type { GroupSettings } from './group-settings.ts'
import { withGap } from './with-gap.ts'

/** Maximum number of groups of one topic per store call. */
const MAX_READS = 256

/** Parameters of a read. */
export type GroupRequest = { topic: string; ack: boolean; max: number; lease?: number }

/**
 * Reads events for consumer groups and applies their settings: events that do not match the filter
 * are acknowledged, and events that exceeded `max-deliveries` become dead letters.
 */
export function createGroupReader(deps: {
  store: Pick<Store, 'topics' | 'journal'>
  bury: GroupDeliveries['bury']
  now(): number
}) {
  const { topics, journal } = deps.store
  const readers = new Map<string, Batcher<GroupRead, GroupBatch | undefined>>()

  /** Waiters of one topic that wake together share one store call. */
  const read = async (topic: string, request: GroupRead) => {
    let reader = readers.get(topic)
    if (!reader) {
      reader = createBatcher({ max: MAX_READS, run: (requests) => topics.read(topic, requests) })
      readers.set(topic, reader)
    }
    try {
      return await reader.add(request)
    } finally {
      if (reader.pending() === 0) readers.delete(topic)
    }
  }

  const readOrMake = async (topic: string, request: GroupRead) => {
    const batch = await read(topic, request)
    if (batch) return batch
    await topics.subscribe(topic, request.group, 'now')
    return read(topic, request)
  }

  /** Splits a batch by the filter of the group, and buries events that exceeded the limit. */
  const sort = async (batch: GroupBatch, group: string, { match, maxDeliveries }: GroupSettings) => {
    const fits = match && createEventFilter(match, journal)
    const answers = fits && (await Promise.all(batch.items.map(fits)))
    const [wanted, exceeded, unwanted]: [Event[], Event[], Event[]] = [[], [], []]
    for (const [at, event] of batch.items.entries()) {
      if (answers?.[at] === false) unwanted.push(event)
      else if (maxDeliveries !== undefined && (batch.deliveries?.[at] ?? 0) > maxDeliveries)
        exceeded.push(event)
      else wanted.push(event)
    }
    if (exceeded.length > 0) await deps.bury(group, exceeded)
    return { wanted, unwanted }
  }

  return {
    read,
    /**
     * `value`: the next events of a group. Without events, `retryIn`: time (ms) until the next
     * lease ends. Neither if the group has to wait for a new event. Creates the group if needed.
     */
    async next({ topic, ack, max, lease }: GroupRequest, group: string, settings: GroupSettings) {
      const mode = ack ? 'consume' : 'peek'
      const isCounted = settings.maxDeliveries !== undefined && lease !== undefined
      const request: GroupRead =
        lease === undefined ? { group, max, mode } : { group, max, mode: 'lease', lease, isCounted }
      for (;;) {
        const batch = await readOrMake(topic, request)
        if (!batch) return {}
        const { wanted, unwanted } = isPlain(settings)
          ? { wanted: batch.items, unwanted: [] }
          : await sort(batch, group, settings)
        // A consuming read has already acknowledged them.
        if (unwanted.length > 0 && request.mode !== 'consume') {
          const ids = unwanted.map(({ id }) => id)
          await topics.ack(topic, group, ids)
        }
        const events = withGap(topic, { ...batch, items: wanted }, deps.now(), request.mode)
        if (events.length > 0) return { value: events }
        if (!batch.more)
          return batch.nextVisible === undefined ? {} : { retryIn: batch.nextVisible - deps.now() }
      }
    },
  }
}

function isPlain({ match, maxDeliveries }: GroupSettings): boolean {
  return match === undefined && maxDeliveries === undefined
}
