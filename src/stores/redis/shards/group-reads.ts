import { type Event, MESSAGE_TOPIC } from '../../../core/event.ts'
import { LARGE_READ } from '../../../core/message.ts'
import { timeOf } from '../../../core/message-id.ts'
import { askAll } from '../../../core/reachable.ts'
import type { GroupBatch, GroupRead } from '../../../core/store.ts'
import { createBatcher } from '../../../lib/batch.ts'
import { defined } from '../../../lib/defined.ts'
import type { BoundedBatch, BoundedRead } from '../topic-read.ts'
import { type createMerge, ONLY_TIME } from './merge.ts'
import type { Shard } from './shard.ts'

/**
 * Reads `gateway-message` for consumer groups; its events are on all shards. `markUse` is called
 * before each use of `merge`, which needs the signals of new messages.
 */
export function createGroupReads(
  shards: readonly Shard[],
  merge: ReturnType<typeof createMerge>,
  markUse: () => void,
) {
  const at = (shard: number) => (shards[shard] as Shard).topics
  /** Concurrent reads of one shard share a call. */
  const readers = shards.map(({ topics }) =>
    createBatcher<BoundedRead, BoundedBatch | undefined>({
      max: 256,
      run: (requests) => topics.read(MESSAGE_TOPIC, requests),
    }),
  )

  /**
   * A group exists if the first shard has it. Another shard without it has lost its last writes;
   * the group is created there again.
   */
  async function readShard(shard: number, request: BoundedRead): Promise<BoundedBatch | undefined> {
    const batch = await readers[shard]?.add(request)
    if (batch || shard === 0) return batch
    const known = await at(0).groups(MESSAGE_TOPIC)
    if (!known.some(({ group }) => group === request.group)) return undefined
    await at(shard).subscribe(MESSAGE_TOPIC, request.group, 'start')
    return readers[shard]?.add(request)
  }

  async function readInOrder(request: GroupRead): Promise<GroupBatch | undefined> {
    markUse()
    const found = createFound(request)
    const ask = async (shard: number, until: number) => {
      // A peek does not use up a report of missed events.
      const asPeek = until === ONLY_TIME ? ({ mode: 'peek', after: 0 } as const) : {}
      const batch = await readShard(shard, { ...request, max: found.room(), until, ...asPeek })
      found.learn(batch)
      const last = batch?.items.at(-1)
      if (batch && (last || batch.missed > 0)) return { value: batch, last: last ? timeOf(last.id) : 0 }
      return batch?.held === undefined ? undefined : { held: batch.held }
    }
    do {
      const isFirst = found.isEmpty()
      const batch = await merge.take<BoundedBatch>(request.group, ask, isFirst).catch((error: unknown) => {
        // The events of other shards are already consumed, so they must be returned.
        if (isFirst) throw error
      })
      if (!batch) return found.batch(!isFirst)
      found.add(batch)
    } while (!found.isFull())
    return found.batch(true)
  }

  async function peek(request: GroupRead): Promise<GroupBatch | undefined> {
    const { answers, away } = await askAll([...shards.keys()], (shard) => readShard(shard, request))
    // The first shard knows whether there is such a group.
    if (!away.includes(0) && answers[0] === undefined) return undefined
    const batches = answers.filter((batch) => batch !== undefined)
    return batches.length === 0 ? undefined : peeked(batches, request)
  }

  return {
    readShard,
    read: (request: GroupRead): Promise<GroupBatch | undefined> => {
      if (request.partition !== undefined) return readShard(request.partition, request)
      return request.mode === 'peek' ? peek({ ...request, after: 0 }) : readInOrder(request)
    },
  }
}

/** Collects the results of one read, shard by shard. */
function createFound({ max, isCounted, withRounds }: GroupRead) {
  const items: Event[] = []
  const deliveries: number[] = []
  const rounds: number[] = []
  let missed = 0
  let size = 0
  let isThere = true
  let nextVisible: number | undefined

  return {
    room: () => max - items.length,
    isEmpty: () => items.length + missed === 0,
    isFull: () => items.length >= max || size > LARGE_READ,
    /** Notes whether the group exists and when something becomes visible. */
    learn(batch: BoundedBatch | undefined): void {
      isThere &&= batch !== undefined
      if (batch?.nextVisible === undefined) return
      nextVisible = Math.min(batch.nextVisible, nextVisible ?? Number.POSITIVE_INFINITY)
    },
    add(batch: BoundedBatch): void {
      items.push(...batch.items)
      deliveries.push(...(batch.deliveries ?? []))
      rounds.push(...(batch.rounds ?? []))
      missed += batch.missed
      size += batch.size
    },
    /** `more`: a shard that seemed empty may have events. */
    batch(more: boolean): GroupBatch | undefined {
      if (!isThere && items.length === 0) return undefined
      const asked = { ...(isCounted && { deliveries }), ...(withRounds && { rounds }) }
      return { items, more, missed, ...asked, ...defined({ nextVisible }) }
    },
  }
}

/** Merges the results of a peek at all shards, by age. */
function peeked(batches: readonly GroupBatch[], { max, withRounds }: GroupRead): GroupBatch {
  const all = batches
    .flatMap(({ items, rounds }) => items.map((event, at) => ({ event, round: rounds?.[at] ?? 0 })))
    .sort((a, b) => (a.event.id < b.event.id ? -1 : 1))
  const shown = all.slice(0, max)
  const more = shown.length < all.length || batches.some((batch) => batch.more)
  const missed = batches.reduce((sum, batch) => sum + batch.missed, 0)
  const visible = batches.flatMap(({ nextVisible }) => nextVisible ?? [])
  return {
    items: shown.map(({ event }) => event),
    more,
    missed,
    ...(visible.length > 0 && { nextVisible: Math.min(...visible) }),
    ...(withRounds && { rounds: shown.map(({ round }) => round) }),
  }
}
