import { timeOf } from '../../core/message-id.ts'
import { askAll } from '../../core/reachable.ts'
import type { GroupInfo } from '../../core/store.ts'
import { oldestOf } from '../../engine/group-oldest.ts'
import { partitionsOf } from '../../engine/partitions.ts'
import { timeLimit, type UnreadStore, unreadPages } from '../../engine/unread-events.ts'
import { defined } from '../../lib/defined.ts'
import type { PushSubscription } from './schema.ts'

type Reader = Pick<PushSubscription, 'name' | 'topic' | 'match'>

/** What a push has not read. */
export type UnreadCount = {
  /** Number of events that match the filter, and will be sent. */
  matching: number
  /** How many of them a replay sends again. */
  replayed: number
  /** The count took too long: later events were not compared with the filter. */
  more?: true
  /** Since when the oldest of them waits (Unix ms). */
  oldestAt?: number
}

/** Maximum time (ms) of a count. */
const COUNT_TIME = 100
/** Minimum time until the next count, as a multiple of the duration of the last one. */
const REST = 20
/** How long (ms) a count is kept while the group does not change: an erasure may remove events. */
const LIFETIME = 30_000

type Counted = { key: string; at: number; took: number; count: UnreadCount }

export type UnreadCounts = ReturnType<typeof createUnreadCounts>

/**
 * Counts what push subscriptions have not read and will send. The status reads the counts each
 * second, so they are cached while nothing changes, and take at most a twentieth of the time.
 */
export function createUnreadCounts(store: UnreadStore) {
  const counted = new Map<string, Counted>()

  const count = async (reader: Reader, info: GroupInfo): Promise<UnreadCount> => {
    const { name, topic, match } = reader
    const partitions = partitionsOf(store.topics, topic)
    const { answers: ends } = await askAll(partitions, (each) => store.topics.end(topic, each))
    const key = JSON.stringify([topic, match, info.lag, info.pending, info.again, ends])
    const known = counted.get(name)
    const began = performance.now()
    const age = known ? began - known.at : Number.POSITIVE_INFINITY
    if (known && (known.key === key ? age < LIFETIME : age < known.took * REST)) return known.count
    const found = await countMatching(store, reader, COUNT_TIME)
    const at = performance.now()
    counted.set(name, { key, at, took: at - began, count: found })
    return found
  }

  return async (reader: Reader, info: GroupInfo | undefined): Promise<UnreadCount> => {
    if (info && info.lag + info.pending > 0) {
      if (reader.match) return count(reader, info)
      const oldest = await oldestOf(store.topics, info)
      const all = { matching: info.lag + info.pending, ...defined({ oldestAt: oldest?.since }) }
      // Without a replay, unread events are not pending, and have waited since their publication.
      const hasReplayed = info.pending > 0 || (oldest !== undefined && oldest.since > timeOf(oldest.id))
      return { ...all, replayed: hasReplayed ? (await count(reader, info)).replayed : 0 }
    }
    counted.delete(reader.name)
    return { matching: 0, replayed: 0 }
  }
}

async function countMatching(store: UnreadStore, reader: Reader, time: number): Promise<UnreadCount> {
  const limit = timeLimit(time)
  const count: UnreadCount = { matching: 0, replayed: 0 }
  for await (const page of unreadPages(store, { ...reader, group: reader.name }, limit)) {
    count.matching += page.length
    for (const { event, since } of page) {
      count.oldestAt = Math.min(count.oldestAt ?? since, since)
      if (since > timeOf(event.id)) count.replayed++
    }
  }
  return { ...count, ...(limit.isCut && { more: true }) }
}
