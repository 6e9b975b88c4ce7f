import { isDeepStrictEqual } from 'node:util'
import type { Event } from '../../core/event.ts'
import { isStoreAway } from '../../core/reachable.ts'
import type { GroupBatch, Topics } from '../../core/store.ts'
import { withGap } from '../../engine/with-gap.ts'
import { defined } from '../../lib/defined.ts'
import { missedIn } from '../../lib/gap-text.ts'
import { type Delivery, type Lanes, laneOf } from './lanes.ts'
import type { Control, Records } from './records.ts'

/**
 * Maximum events of one read. More would survive in V8's young generation, which costs more than
 * another read.
 */
const READ_BATCH = 256
/** Finished events are acknowledged at once when there are this many. */
export const ACK_BATCH = 1_000
/** Fewer finished events are acknowledged after this time (ms). */
export const ACK_INTERVAL = 100
/** How long (ms) a partition whose shard is unreachable is neither read nor acknowledged. */
const SHARD_PAUSE = 500

/** State per partition. */
type Partition = {
  partition: number
  /** Whether the group may have unread events. */
  hasMore: boolean
  /** The next read starts after this position: earlier events are pending or done. 0: unknown. */
  readTo: number
  /** Whether earlier events may have become visible since the last read from the start. */
  isBehind: boolean
  /** If its shard was unreachable: when the next read may start (monotonic time); else 0. */
  retryAt: number
}

type ReadingDeps = {
  topics: Pick<Topics, 'read' | 'ack' | 'partitions' | 'placeOf'>
  topic: string
  group: string
  control: Control
  records: Pick<Records, 'control'>
  lanes: Lanes
  /** Whether the subscription wants an event. Absent: all events. */
  wants?: ((event: Event) => Promise<boolean>) | undefined
  /** Whether the next event of a lane, which may have older jobs, may become a job too. */
  mayBecomeJob(lane: string): boolean
  now(): number
}

/**
 * Reads the events of one subscription ahead, from its group into lanes, and acknowledges finished
 * ones. Peeks, so that no event is hidden after a crash. Only one daemon does this at a time.
 */
export function createReading(deps: ReadingDeps) {
  const { topics, topic, group, wants, now } = deps
  const pending = createPending(deps)
  const partitions = Array.from({ length: topics.partitions(topic) }, (_, partition): Partition => {
    return { partition, hasMore: true, readTo: 0, isBehind: false, retryAt: 0 }
  })

  const take = async (from: Partition, batch: GroupBatch = { items: [], more: false, missed: 0 }) => {
    const events = withGap(topic, batch, now(), 'peek')
    const gaps = events.length - batch.items.length
    const roundAt = (index: number) => (index < gaps ? undefined : (batch.rounds?.[index - gaps] ?? 0))
    const fresh = events
      .map((event, index): Delivery => ({ event, lane: laneOf(event), round: roundAt(index) }))
      .filter((delivery) => !pending.has(delivery) && !pending.adopt(delivery))
    const [first] = fresh
    // `control` may have changed since the start. A pause is stored before the events that it holds
    // back, so these are not taken.
    if (first && !isDeepStrictEqual(await deps.records.control(), deps.control)) return
    const isGap = first !== undefined && missedIn(first.event.id) > 0
    let isAllTaken = !isGap
    const wanted = wants && !isGap ? await Promise.all(fresh.map(({ event }) => wants(event))) : []
    // A gap is taken alone: its id changes when other events are acknowledged.
    for (const [index, delivery] of (isGap ? [first] : fresh).entries()) {
      if (pending.add(delivery, wanted[index] !== false, isGap)) from.hasMore = true
      else isAllTaken = false
    }
    // A read returns only a few large events, so only an empty read marks the end of the partition.
    const last = events.at(-1)
    if (isAllTaken && last) from.readTo = topics.placeOf(topic, last.id)?.position ?? 0
    // After an empty read, the partition is read from its start if earlier events may be visible
    // again.
    from.hasMore ||= from.readTo > 0 || (last === undefined && from.isBehind)
  }

  return {
    /** Notes that events may have become visible: in one partition, or in any. */
    markReadable(partition?: number): void {
      for (const each of partitions) {
        if (partition === undefined || partition === each.partition) each.hasMore = each.isBehind = true
      }
    },
    /** Makes the next read cover all partitions, because events may have been skipped. */
    readAgain(): void {
      for (const each of partitions) each.hasMore = true
    },
    hasMore: () => partitions.some(isReadDue),
    /** Ms until an unreachable shard is asked again; undefined if all are reachable. */
    msUntilRetry(): number | undefined {
      const waiting = partitions.filter(({ hasMore, retryAt }) => hasMore && retryAt > 0)
      const times = [...waiting.map(({ retryAt }) => retryAt), ...pending.retryTimes()]
      return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - performance.now())
    },
    /** Reads more events. Those that the subscription does not want count as done. */
    async read(): Promise<void> {
      const due = partitions.filter(isReadDue)
      const max = Math.ceil(READ_BATCH / due.length)
      const reads = due.map((each) => {
        const { partition, readTo: after } = each
        each.hasMore = false
        each.readTo = 0
        each.retryAt = 0
        each.isBehind &&= after > 0
        return { group, max, mode: 'peek', partition, after, withRounds: true } as const
      })
      const settled = await Promise.allSettled(reads.map((read) => topics.read(topic, [read])))
      requireSome(settled, partitions.length)
      for (const [index, each] of due.entries()) {
        const read = settled[index]
        if (read?.status === 'fulfilled') await take(each, read.value[0])
        else Object.assign(each, { hasMore: true, retryAt: performance.now() + SHARD_PAUSE })
      }
    },
    done: pending.done,
    doneCount: pending.doneCount,
    settledCount: pending.settledCount,
    isAckDue: pending.isAckDue,
    ack: pending.ack,
  }
}

function isReadDue({ hasMore, retryAt }: Partition): boolean {
  return hasMore && retryAt <= performance.now()
}

/**
 * Throws if all partitions failed, or if one failed for another reason than an unreachable shard.
 */
function requireSome(settled: readonly PromiseSettledResult<unknown>[], partitions: number): void {
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  const unexpected = failures.find((each) => !isStoreAway(each))
  if (unexpected !== undefined) throw unexpected
  if (failures.length >= partitions) throw failures[0]
}

/** An event that needs only an acknowledgement. */
type Done = { id: string; round: number | undefined }

/**
 * Acknowledges events of one round. An event redelivered meanwhile belongs to another round, and stays unread.
 */
function ackPart(
  { topics, topic, group }: Pick<ReadingDeps, 'topics' | 'topic' | 'group'>,
  part: readonly Done[],
) {
  const ids = part.map(({ id }) => id)
  return topics.ack(topic, group, ids, { areRead: true, ...defined({ round: part[0]?.round }) })
}

/** The events that were read but are not acknowledged yet: in lanes, or done. */
function createPending({ topics, topic, group, lanes, mayBecomeJob, now }: ReadingDeps) {
  /** The rounds of unacknowledged ids, including those in `done` and `unreachable`. */
  const pending = new Map<string, number | undefined>()
  const done: Done[] = []
  /** Events that are done, but could not be acknowledged, because their shard was unreachable. */
  let unreachable: { items: Done[]; retryAt: number } = { items: [], retryAt: 0 }
  let ackedAt = 0
  /** Number of events that are being acknowledged. */
  let acking = 0
  /** Groups events by round, and by partition: reachable shards need not wait for others. */
  const inParts = (items: Done[]) => {
    const partitionOf = (id: string) => topics.placeOf(topic, id)?.partition ?? 0
    const [first] = items
    const isOnePartition = topics.partitions(topic) === 1
    // The usual case needs no keys.
    if (first && isOnePartition && items.every(({ round }) => round === first.round)) return [items]
    const keyOf = ({ id, round }: Done) => `${isOnePartition ? 0 : partitionOf(id)} ${round}`
    return [...Map.groupBy(items, keyOf).values()]
  }
  return {
    /** Whether an event of this round is pending. */
    has: ({ event: { id }, round }: Delivery) => pending.get(id) === round && pending.has(id),
    /**
     * Whether an event is pending in another round and was not sent yet: a replay has redelivered it
     * meanwhile, and it is sent once, in the new round.
     */
    adopt(delivery: Delivery): boolean {
      const { event, round } = delivery
      if (!pending.has(event.id) || !lanes.adopt(delivery)) return false
      pending.set(event.id, round)
      return true
    },
    /** Adds an event or a gap; false if it has to be read again later. */
    add(delivery: Delivery, isWanted: boolean, isGap: boolean): boolean {
      const { event, lane, round } = delivery
      const isFree = lanes.isFree(lane)
      if (!isWanted) done.push({ id: event.id, round })
      else if (isGap || (!isFree && mayBecomeJob(lane))) lanes.addJobs([delivery])
      else if (!isFree) return false
      else lanes.add(delivery)
      pending.set(event.id, round)
      return true
    },
    /** Called when an event was sent, or has become a job. */
    done: ({ event: { id }, round }: Delivery) => void done.push({ id, round }),
    doneCount: () => done.length,
    /** Events that need nothing more, and that the group still counts as unread. */
    settledCount: () => done.length + acking + unreachable.items.length,
    isAckDue: () => done.length >= ACK_BATCH || now() >= ackedAt + ACK_INTERVAL,
    /** When `unreachable` is acknowledged again: one time, or none. */
    retryTimes: () => (unreachable.items.length > 0 ? [unreachable.retryAt] : []),
    async ack(): Promise<void> {
      ackedAt = now()
      const isRetryDue = unreachable.retryAt <= performance.now()
      const parts = inParts([...done.splice(0), ...(isRetryDue ? unreachable.items.splice(0) : [])])
      const count = parts.reduce((sum, part) => sum + part.length, 0)
      acking += count
      const settled = await Promise.allSettled(parts.map((part) => ackPart({ topics, topic, group }, part)))
      acking -= count
      try {
        requireSome(settled, topics.partitions(topic))
      } catch (error) {
        done.push(...parts.flat())
        throw error
      }
      for (const [index, part] of parts.entries()) {
        if (settled[index]?.status === 'fulfilled') {
          for (const { id, round } of part) if (pending.get(id) === round) pending.delete(id)
        } else {
          unreachable = { items: [...unreachable.items, ...part], retryAt: performance.now() + SHARD_PAUSE }
        }
      }
    },
  }
}
