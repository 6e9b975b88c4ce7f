import { type Event, MESSAGE_TOPIC } from '../../../core/event.ts'
import { LARGE_READ } from '../../../core/message.ts'
import { makeId, missedIn, timeOf } from '../../../core/message-id.ts'
import type { GroupBatch, GroupInfo, GroupRead, Topics } from '../../../core/store.ts'
import { createBatcher } from '../../../lib/batch.ts'
import { defined } from '../../../lib/defined.ts'
import type { Layout } from '../layout.ts'
import type { BoundedBatch, BoundedRead } from '../topics.ts'
import { createMerge } from './merge.ts'
import { askAll, isAway } from './reach.ts'
import { seekAll } from './seek.ts'
import { byShard, type Shard } from './shard.ts'

/** The topics of several shards as one: `gateway-message` has a partition on each, the others are on the first. */
export function createShardedTopics(
  shards: readonly Shard[],
  layout: Layout,
  follow: (heard: (shard?: number) => void) => () => void,
): Topics {
  const merge = createMerge(shards.length)
  const use = follow(merge.heard)
  const at = (shard = 0) => (shards[shard] as Shard).topics
  const others = at()
  const ofAll = <T>(run: (topics: Shard['topics']) => Promise<T>) =>
    Promise.all(shards.map((_, shard) => run(at(shard))))
  /** What is read at once of one shard is one call. */
  const readers = shards.map(({ topics }) =>
    createBatcher<BoundedRead, BoundedBatch | undefined>({
      max: 256,
      run: (requests) => topics.read(MESSAGE_TOPIC, requests),
    }),
  )

  /** The first shard knows whether a group is there; where another lacks it, it was just being made. */
  async function readShard(shard: number, request: BoundedRead): Promise<BoundedBatch | undefined> {
    const batch = await readers[shard]?.add(request)
    if (batch || shard === 0) return batch
    const known = await others.groups(MESSAGE_TOPIC)
    if (!known.some(({ group }) => group === request.group)) return undefined
    await at(shard).subscribe(MESSAGE_TOPIC, request.group, 'start')
    return readers[shard]?.add(request)
  }

  async function readOne(request: GroupRead): Promise<GroupBatch | undefined> {
    const { group, mode, partition } = request
    if (partition !== undefined) return readShard(partition, request)
    if (mode === 'peek') return peek({ ...request, after: 0 })
    use()
    // A shard that is taken for empty may have something after all.
    const found: GroupBatch = { items: [], more: true, missed: 0 }
    if (request.isCounted) found.deliveries = []
    let size = 0
    let isThere = true
    let nextVisible: number | undefined
    const ask = async (shard: number, until: number) => {
      // Who only looks is told of missed events again.
      const looks = until < 0 ? ({ mode: 'peek', after: 0 } as const) : {}
      const max = request.max - found.items.length
      const batch = await readShard(shard, { ...request, max, until, ...looks })
      isThere &&= batch !== undefined
      if (batch?.nextVisible !== undefined)
        nextVisible = Math.min(batch.nextVisible, nextVisible ?? Number.POSITIVE_INFINITY)
      const last = batch?.items.at(-1)
      if (batch && (last || batch.missed > 0)) return { value: batch, last: last ? timeOf(last.id) : 0 }
      return batch?.held === undefined ? undefined : { held: batch.held }
    }
    do {
      const isFirst = found.items.length + found.missed === 0
      const batch = await merge.take<BoundedBatch>(group, ask, isFirst).catch((error: unknown) => {
        // What the others gave is consumed.
        if (isFirst) throw error
      })
      if (!batch) {
        found.more = !isFirst
        break
      }
      addTo(found, batch)
      size += batch.size
    } while (found.items.length < request.max && size <= LARGE_READ)
    return isThere || found.items.length > 0 ? { ...found, ...defined({ nextVisible }) } : undefined
  }

  async function peek(request: GroupRead): Promise<GroupBatch | undefined> {
    const asked = [...shards.keys()]
    const { answers, away } = await askAll(asked, (shard) => readShard(shard, request))
    // The first shard knows whether there is such a group.
    if (!away.includes(0) && answers[0] === undefined) return undefined
    const batches = answers.filter((batch) => batch !== undefined)
    if (batches.length === 0) return undefined
    const all = batches.flatMap((batch) => batch.items).sort(byId)
    const items = all.slice(0, request.max)
    const more = items.length < all.length || batches.some((batch) => batch.more)
    const missed = batches.reduce((sum, batch) => sum + batch.missed, 0)
    const visible = batches.flatMap(({ nextVisible }) => nextVisible ?? [])
    return { items, more, missed, ...(visible.length > 0 && { nextVisible: Math.min(...visible) }) }
  }

  type Settle = (topics: Shard['topics'], ids: readonly string[]) => Promise<number>
  async function settle(topic: string, group: string, ids: readonly string[], isAck: boolean, run: Settle) {
    if (topic !== MESSAGE_TOPIC) return run(others, ids)
    const own = ids.filter((id) => missedIn(id) === 0)
    const counts = await byShard(
      own,
      (id) => layout.shardIn(id) ?? 0,
      async (shard, some) => [await run(at(shard), some)],
    )
    const told = ids.reduce((sum, id) => sum + missedIn(id), 0)
    const forgiven = isAck && told > 0 && (await forgive(group, told)) ? 1 : 0
    return counts.reduce((sum, count) => sum + (count ?? 0), forgiven)
  }

  /** Takes off what reads tell of missed events, wherever they were missed. */
  async function forgive(group: string, told: number): Promise<boolean> {
    let left = told
    for (const shard of shards.keys()) {
      const batch = await readShard(shard, { group, max: 1, mode: 'peek' })
      const missed = Math.min(left, batch?.missed ?? 0)
      if (missed > 0) await at(shard).ack(MESSAGE_TOPIC, group, [makeId(Date.now(), 0, missed)])
      left -= missed
    }
    return left < told
  }

  return {
    partitions: (topic) => (topic === MESSAGE_TOPIC ? shards.length : 1),
    placeOf: (topic, id) => {
      const partition = partitionOf(layout, topic, id)
      const position = at(partition).placeOf(topic, id)
      return position === undefined ? undefined : { partition, position }
    },
    publish: (topic, events) => others.publish(topic, events),
    subscribe: async (topic, group, from) => {
      if (topic === MESSAGE_TOPIC)
        await Promise.all(shards.slice(1).map(({ topics }) => topics.subscribe(topic, group, from)))
      return others.subscribe(topic, group, from)
    },
    unsubscribe: async (topic, group) => {
      if (topic !== MESSAGE_TOPIC) return others.unsubscribe(topic, group)
      // A call that failed between two shards is finished by the next.
      return (await ofAll((topics) => topics.unsubscribe(topic, group))).includes(true)
    },
    seek: (topic, group, to) =>
      topic === MESSAGE_TOPIC ? seekAll(shards, group, to) : others.seek(topic, group, to),
    groups: async (only, partition) => {
      if (only !== undefined && only !== MESSAGE_TOPIC) return others.groups(only)
      if (partition !== undefined) return at(partition).groups(MESSAGE_TOPIC)
      const rest = only === undefined ? await others.groups().catch(noneWhileAway) : []
      const { answers } = await askAll(shards, ({ topics }) => topics.groups(MESSAGE_TOPIC))
      const all = answers.flat()
      const sums = Map.groupBy(all, ({ group }) => group)
      const merged = [...sums].map(([group, infos]): GroupInfo => {
        const sum = (what: 'lag' | 'pending') => infos.reduce((total, info) => total + info[what], 0)
        return { topic: MESSAGE_TOPIC, group, lag: sum('lag'), pending: sum('pending') }
      })
      return [...merged, ...rest.filter(({ topic }) => topic !== MESSAGE_TOPIC)]
    },
    read: (topic, requests) =>
      topic === MESSAGE_TOPIC ? Promise.all(requests.map(readOne)) : others.read(topic, requests),
    ack: (topic, group, ids, areRead) =>
      settle(topic, group, ids, true, (topics, some) => topics.ack(topic, group, some, areRead)),
    nack: (topic, group, ids, delay) =>
      settle(topic, group, ids, false, (topics, some) => topics.nack(topic, group, some, delay)),
    extend: (topic, group, ids, lease) =>
      settle(topic, group, ids, false, (topics, some) => topics.extend(topic, group, some, lease)),
    restore: (topic, group, id) => at(partitionOf(layout, topic, id)).restore(topic, group, id),
    tail: (topic, after, max, partition) => at(partition).tail(topic, after, max),
    end: (topic, partition) => at(partition).end(topic),
  }
}

function addTo(found: GroupBatch, { items, deliveries = [], missed }: GroupBatch): void {
  found.items.push(...items)
  found.deliveries?.push(...deliveries)
  found.missed += missed
}

function partitionOf({ shardIn }: Layout, topic: string, id: string): number {
  return topic === MESSAGE_TOPIC ? (shardIn(id) ?? 0) : 0
}

/** Groups of other topics are all on the first shard; without it, those of gateway-message can still be told. */
function noneWhileAway(error: unknown): GroupInfo[] {
  if (!isAway(error)) throw error
  return []
}

function byId(a: Event, b: Event): number {
  return a.id < b.id ? -1 : 1
}
