import type { GroupBatch, GroupInfo, Store } from '../core/store.ts'
import { waitingSince } from './event-rounds.ts'
import { partitionsOf } from './partitions.ts'

export type GroupTopics = Pick<Store['topics'], 'consumed' | 'groups' | 'read' | 'partitions'>

/** Maximum number of events that wait to be delivered again whose times are compared. */
const MOST_AGAIN = 100

/**
 * `id`: the event that a group reads next. `since`: since when the event waits that has waited
 * longest (Unix ms), of the unread ones and of those to be delivered again. Undefined if nothing
 * waits, or all that waits is leased.
 */
export async function oldestOf(
  topics: GroupTopics,
  info: GroupInfo,
): Promise<{ id: string; since: number } | undefined> {
  const { topic, group, lag, again } = info
  if (lag + again === 0) return undefined
  const max = Math.max(1, Math.min(again, MOST_AGAIN))
  const [batch] = await topics.read(topic, [{ group, max, mode: 'peek', withRounds: true }])
  const id = batch?.items[0]?.id
  if (id === undefined) return undefined
  // Replayed events are read before unread ones, and wait only since their replay.
  const unread = again > 0 && lag > 0 ? await unreadSince(topics, info) : []
  return { id, since: Math.min(...timesOf(batch), ...unread) }
}

/** Since when the first unread event of each partition waits (Unix ms). */
async function unreadSince(topics: GroupTopics, { topic, group }: GroupInfo): Promise<number[]> {
  const times = partitionsOf(topics, topic).map(async (partition) => {
    const readers = await topics.consumed(topic, partition)
    const after = readers.find((each) => each.group === group)?.last
    if (after === undefined) return []
    const peek = { group, max: 1, mode: 'peek' as const, withRounds: true, partition, after }
    return timesOf((await topics.read(topic, [peek]))[0])
  })
  return (await Promise.all(times)).flat()
}

function timesOf(batch: GroupBatch | undefined): number[] {
  return batch?.items.map(({ id }, at) => waitingSince(id, batch.rounds?.[at])) ?? []
}
