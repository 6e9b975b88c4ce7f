import { MESSAGE_TOPIC } from '../../../core/event.ts'
import { makeId } from '../../../core/message-id.ts'
import { askAll, isStoreAway } from '../../../core/reachable.ts'
import type { GroupInfo, Topics } from '../../../core/store.ts'
import { missedIn } from '../../../lib/gap-text.ts'
import type { Layout } from '../layout.ts'
import { createGroupReads } from './group-reads.ts'
import { createMerge } from './merge.ts'
import { seekAll } from './seek.ts'
import { byShard, type Shard } from './shard.ts'

/**
 * The topics of several shards as one: `gateway-message` has a partition on each, the others are on
 * the first. `follow`: follows the signal of new messages while it is in use; each call of the
 * returned function marks a use. Without a shard number, any shard may have new messages.
 */
export function createShardedTopics(
  shards: readonly Shard[],
  layout: Layout,
  follow: (changed: (shard?: number) => void) => () => void,
): Topics {
  const merge = createMerge(shards.length)
  const markUse = follow(merge.signalled)
  const at = (shard = 0) => (shards[shard] as Shard).topics
  /** All topics except `gateway-message`. */
  const onFirst = at(0)
  const ofAll = <T>(run: (topics: Shard['topics']) => Promise<T>) =>
    Promise.all(shards.map((_, shard) => run(at(shard))))
  const { read, readShard } = createGroupReads(shards, merge, markUse)

  type Settle = (topics: Shard['topics'], ids: readonly string[]) => Promise<number>
  async function settle(topic: string, group: string, ids: readonly string[], isAck: boolean, run: Settle) {
    if (topic !== MESSAGE_TOPIC) return run(onFirst, ids)
    // Other ids stand for a number of missed events.
    const events = ids.filter((id) => missedIn(id) === 0)
    // One count per shard, at its first id; the places of the other ids stay empty.
    const counts = await byShard(
      events,
      (id) => layout.shardIn(id) ?? 0,
      async (shard, some) => [await run(at(shard), some)],
    )
    const missed = ids.reduce((sum, id) => sum + missedIn(id), 0)
    const forgiven = isAck && missed > 0 && (await forgive(group, missed)) ? 1 : 0
    return counts.reduce((sum, count) => sum + (count ?? 0), forgiven)
  }

  /**
   * Acknowledges a number of missed events that reads reported, on the shards where they were
   * missed. Resolves with whether there were any.
   */
  async function forgive(group: string, missed: number): Promise<boolean> {
    let left = missed
    for (const shard of shards.keys()) {
      const batch = await readShard(shard, { group, max: 1, mode: 'peek' })
      const missedHere = Math.min(left, batch?.missed ?? 0)
      if (missedHere > 0) await at(shard).ack(MESSAGE_TOPIC, group, [makeId(Date.now(), 0, missedHere)])
      left -= missedHere
    }
    return left < missed
  }

  return {
    partitions: (topic) => (topic === MESSAGE_TOPIC ? shards.length : 1),
    placeOf: (topic, id) => {
      const partition = partitionOf(layout, topic, id)
      const position = at(partition).placeOf(topic, id)
      return position === undefined ? undefined : { partition, position }
    },
    publish: (topic, events) => onFirst.publish(topic, events),
    subscribe: async (topic, group, from) => {
      if (topic === MESSAGE_TOPIC)
        await Promise.all(shards.slice(1).map(({ topics }) => topics.subscribe(topic, group, from)))
      return onFirst.subscribe(topic, group, from)
    },
    unsubscribe: async (topic, group) => {
      if (topic !== MESSAGE_TOPIC) return onFirst.unsubscribe(topic, group)
      // Repeating the call completes one that failed between two shards.
      return (await ofAll((topics) => topics.unsubscribe(topic, group))).includes(true)
    },
    seek: (topic, group, to) =>
      topic === MESSAGE_TOPIC ? seekAll(shards, group, to) : onFirst.seek(topic, group, to),
    groups: (only, partition) => groupsOf(shards, only, partition),
    read: (topic, requests) =>
      topic === MESSAGE_TOPIC ? Promise.all(requests.map(read)) : onFirst.read(topic, requests),
    ack: (topic, group, ids, as) =>
      settle(topic, group, ids, true, (topics, some) => topics.ack(topic, group, some, as)),
    nack: (topic, group, ids, delay) =>
      settle(topic, group, ids, false, (topics, some) => topics.nack(topic, group, some, delay)),
    extend: (topic, group, ids, lease) =>
      settle(topic, group, ids, false, (topics, some) => topics.extend(topic, group, some, lease)),
    withdraw: (topic, group, ids, round) =>
      settle(topic, group, ids, false, (topics, some) => topics.withdraw(topic, group, some, round)),
    restore: (topic, group, id, round) => at(partitionOf(layout, topic, id)).restore(topic, group, id, round),
    ...createPartitionAccess(at),
  }
}

/** The methods that concern one partition. */
function createPartitionAccess(
  at: (shard?: number) => Shard['topics'],
): Pick<Topics, 'skip' | 'consumed' | 'unread' | 'redelivered' | 'roundOf' | 'erased' | 'tail' | 'end'> {
  return {
    skip: (topic, group, to) => at(to.partition).skip(topic, group, to),
    consumed: (topic, partition) => at(partition).consumed(topic),
    erased: (topic, range) => at(range.partition).erased(topic, range),
    unread: (topic, group, range) => at(range.partition).unread(topic, group, range),
    redelivered: (topic, group, partition) => at(partition).redelivered(topic, group),
    roundOf: (topic, group, partition) => at(partition).roundOf(topic, group),
    tail: (topic, after, max, partition) => at(partition).tail(topic, after, max),
    end: (topic, partition) => at(partition).end(topic),
  }
}

/** The groups of all shards; those of `gateway-message` are on each. */
async function groupsOf(shards: readonly Shard[], only?: string, partition?: number): Promise<GroupInfo[]> {
  const onFirst = (shards[0] as Shard).topics
  if (only !== undefined && only !== MESSAGE_TOPIC) return onFirst.groups(only)
  if (partition !== undefined) return (shards[partition] as Shard).topics.groups(MESSAGE_TOPIC)
  const rest = only === undefined ? await onFirst.groups().catch(noneWhileAway) : []
  const { answers } = await askAll(shards, ({ topics }) => topics.groups(MESSAGE_TOPIC))
  const sums = Map.groupBy(answers.flat(), ({ group }) => group)
  const merged = [...sums].map(([group, infos]): GroupInfo => {
    const sum = (what: 'lag' | 'pending' | 'again') => infos.reduce((total, info) => total + info[what], 0)
    return { topic: MESSAGE_TOPIC, group, lag: sum('lag'), pending: sum('pending'), again: sum('again') }
  })
  return [...merged, ...rest.filter(({ topic }) => topic !== MESSAGE_TOPIC)]
}

function partitionOf({ shardIn }: Layout, topic: string, id: string): number {
  return topic === MESSAGE_TOPIC ? (shardIn(id) ?? 0) : 0
}

/**
 * For the groups of other topics, which are all on the first shard. While it is unreachable, those
 * of `gateway-message` can still be listed.
 */
function noneWhileAway(error: unknown): GroupInfo[] {
  if (!isStoreAway(error)) throw error
  return []
}
