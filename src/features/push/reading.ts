import { isDeepStrictEqual } from 'node:util'
import type { Event } from '../../core/event.ts'
import { missedIn } from '../../core/message-id.ts'
import type { GroupBatch, Topics } from '../../core/store.ts'
import { isStoreAway } from '../../engine/attempts.ts'
import { withGap } from '../../engine/with-gap.ts'
import { type Lanes, laneOf } from './lanes.ts'
import type { Control, Records } from './records.ts'

/** Events from one read. Reading further ahead keeps more of them alive in V8's young generation, which costs more than reading less. */
const MOST = 256
/** When to acknowledge: after `most` events, or `after` ms. */
export const ACK = { most: 1_000, after: 100 }

/** Ms after which a partition with an unreachable shard is read again, and its events are acknowledged again. */
const AWAY_PAUSE = 500

/**
 * State per partition. `hasMore`: the group may have unread events. `readTo`: all events up to this
 * position are held or done, so the next read starts after it (0: unknown). `isBehind`: earlier
 * events may have become visible since the last read from the start.
 * `restsUntil`: its shard was unreachable, so it is not read before this time (monotonic).
 */
type Partition = {
  partition: number
  hasMore: boolean
  readTo: number
  isBehind: boolean
  restsUntil: number
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
  /** Whether an event of a lane that may have jobs may become a job too. */
  mayLeave(lane: string): boolean
  now(): number
}

/**
 * Reads the group of one subscription ahead into its lanes, and acknowledges finished events.
 * Peeks, so that no event is hidden after a crash. Only one daemon does this at a time.
 */
export function createReading(deps: ReadingDeps) {
  const { topics, topic, group, now } = deps
  const held = createHeld(deps)
  const partitions = Array.from({ length: topics.partitions(topic) }, (_, partition): Partition => {
    return { partition, hasMore: true, readTo: 0, isBehind: false, restsUntil: 0 }
  })

  const take = async (from: Partition, batch: GroupBatch = { items: [], more: false, missed: 0 }) => {
    const events = withGap(topic, batch, now(), 'peek')
    const fresh = events.filter(({ id }) => !held.has(id))
    const [first] = fresh
    // Check `control` before the first event: a pause is written before the events it holds back,
    // and a replay before its group restarts.
    if (first && !isDeepStrictEqual(await deps.records.control(), deps.control)) return
    const isGap = first !== undefined && missedIn(first.id) > 0
    let isAllTaken = !isGap
    const wanted = deps.wants && !isGap ? await Promise.all(fresh.map(deps.wants)) : []
    // The id of a gap changes when other events are acknowledged.
    for (const [at, event] of isGap ? [[0, first] as const] : fresh.entries()) {
      if (held.add(event, wanted[at] !== false, isGap)) from.hasMore = true
      else isAllTaken = false
    }
    // A read returns few large events at a time, so only an empty one marks the end.
    const last = events.at(-1)
    if (isAllTaken && last) from.readTo = topics.placeOf(topic, last.id)?.position ?? 0
    from.hasMore ||= from.readTo > 0 || (last === undefined && from.isBehind)
  }

  return {
    /** Events became visible, in one partition or in any. */
    look(at?: number): void {
      for (const each of at === undefined ? partitions : partitions.slice(at, at + 1))
        each.hasMore = each.isBehind = true
    },
    /** Reads again from the start, as events may have been skipped. */
    again(): void {
      for (const each of partitions) each.hasMore = true
    },
    hasMore: () => partitions.some(isOpen),
    /** Ms until an unreachable shard is asked again; undefined if all are reachable. */
    restsFor(): number | undefined {
      const waiting = partitions.filter(({ hasMore, restsUntil }) => hasMore && restsUntil > 0)
      const times = [...waiting.map(({ restsUntil }) => restsUntil), ...held.restsUntil()]
      return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - performance.now())
    },
    /** Reads ahead. Unwanted events count as done. */
    async read(): Promise<void> {
      const open = partitions.filter(isOpen)
      const max = Math.ceil(MOST / open.length)
      const reads = open.map((each) => {
        const { partition, readTo: after } = each
        each.hasMore = false
        each.readTo = 0
        each.restsUntil = 0
        each.isBehind &&= after > 0
        return { group, max, mode: 'peek', partition, after } as const
      })
      const settled = await Promise.allSettled(reads.map((read) => topics.read(topic, [read])))
      requireSome(settled, partitions.length)
      for (const [at, each] of open.entries()) {
        const read = settled[at]
        if (read?.status === 'fulfilled') await take(each, read.value[0])
        else Object.assign(each, { hasMore: true, restsUntil: performance.now() + AWAY_PAUSE })
      }
    },
    done: held.done,
    doneCount: held.doneCount,
    settledCount: held.settledCount,
    isAckDue: held.isAckDue,
    ack: held.ack,
  }
}

function isOpen({ hasMore, restsUntil }: Partition): boolean {
  return hasMore && restsUntil <= performance.now()
}

/** Throws if all partitions of a topic failed, or if one failed for another reason than an unreachable shard. */
function requireSome(settled: readonly PromiseSettledResult<unknown>[], partitions: number): void {
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  const [failure = undefined] = failures.filter((each) => !isStoreAway(each))
  if (failure !== undefined) throw failure
  if (failures.length === partitions) throw failures[0]
}

/** The events that were read but not acknowledged yet: in lanes, or done. */
function createHeld({ topics, topic, group, control, lanes, mayLeave, now }: ReadingDeps) {
  const { since } = control.replay ?? { since: 0 }
  /** Ids that only need an acknowledgement, and all ids that were read and not acknowledged. */
  const done: string[] = []
  /** Ids that are done, but whose shard was unreachable. */
  let later: { ids: string[]; until: number } = { ids: [], until: 0 }
  const held = new Set<string>()
  let ackedAt = 0
  let acking = 0
  /** Groups ids by partition, so that reachable shards need not wait for others. */
  const byPartition = (ids: string[]) => {
    if (ids.length === 0) return []
    if (topics.partitions(topic) === 1) return [ids]
    return [...Map.groupBy(ids, (id) => topics.placeOf(topic, id)?.partition ?? 0).values()]
  }
  return {
    has: (id: string) => held.has(id),
    /** Adds an event or a gap; false if it has to be read again later. */
    add(event: Event, isWanted: boolean, isGap: boolean): boolean {
      const lane = laneOf(event)
      const isFree = lanes.isFree(lane)
      if (!isWanted || event.timestamp < since) done.push(event.id)
      else if (isGap || (!isFree && mayLeave(lane))) lanes.leave([event])
      else if (!isFree) return false
      else lanes.add(event)
      held.add(event.id)
      return true
    },
    /** An event was sent, or has become a job. */
    done: (event: Event) => void done.push(event.id),
    doneCount: () => done.length,
    /** Events that need nothing more, and that the group still counts as unread. */
    settledCount: () => done.length + acking + later.ids.length,
    isAckDue: () => done.length >= ACK.most || now() >= ackedAt + ACK.after,
    restsUntil: () => (later.ids.length > 0 ? [later.until] : []),
    async ack(): Promise<void> {
      ackedAt = now()
      const isLater = later.until <= performance.now()
      const parts = byPartition([...done.splice(0), ...(isLater ? later.ids.splice(0) : [])])
      const count = parts.reduce((sum, ids) => sum + ids.length, 0)
      acking += count
      const settled = await Promise.allSettled(parts.map((ids) => topics.ack(topic, group, ids, true)))
      acking -= count
      try {
        requireSome(settled, topics.partitions(topic))
      } catch (error) {
        done.push(...parts.flat())
        throw error
      }
      for (const [at, ids] of parts.entries()) {
        if (settled[at]?.status === 'fulfilled') for (const id of ids) held.delete(id)
        else later = { ids: [...later.ids, ...ids], until: performance.now() + AWAY_PAUSE }
      }
    },
  }
}
