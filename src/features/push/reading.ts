import { isDeepStrictEqual } from 'node:util'
import type { Event } from '../../core/event.ts'
import { missedIn } from '../../core/message-id.ts'
import type { GroupBatch, Topics } from '../../core/store.ts'
import { withGap } from '../../engine/with-gap.ts'
import { type Lanes, laneOf } from './lanes.ts'
import type { Control, Records } from './records.ts'

/** Events from one read. Reading further ahead keeps more of them alive in V8's young generation, which costs more than reading less. */
const MOST = 256
/** When to acknowledge: after `most` events, or `after` ms. */
export const ACK = { most: 1_000, after: 100 }

/**
 * State per partition. `hasMore`: the group may have unread events. `readTo`: all events up to this
 * position are held or done, so the next read starts after it (0: unknown). `isBehind`: earlier
 * events may have become visible since the last read from the start.
 */
type Partition = { partition: number; hasMore: boolean; readTo: number; isBehind: boolean }

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
    return { partition, hasMore: true, readTo: 0, isBehind: false }
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
    hasMore: () => partitions.some(({ hasMore }) => hasMore),
    /** Reads ahead. Unwanted events count as done. */
    async read(): Promise<void> {
      const open = partitions.filter(({ hasMore }) => hasMore)
      const max = Math.ceil(MOST / open.length)
      const reads = open.map((each) => {
        const { partition, readTo: after } = each
        each.hasMore = false
        each.readTo = 0
        each.isBehind &&= after > 0
        return { group, max, mode: 'peek', partition, after } as const
      })
      const batches = await topics.read(topic, reads)
      for (const [at, each] of open.entries()) await take(each, batches[at])
    },
    done: held.done,
    doneCount: held.doneCount,
    settledCount: held.settledCount,
    isAckDue: held.isAckDue,
    ack: held.ack,
  }
}

/** The events that were read and not acknowledged yet: in lanes, or done. */
function createHeld({ topics, topic, group, control, lanes, mayLeave, now }: ReadingDeps) {
  const { since } = control.replay ?? { since: 0 }
  /** Ids that only need an acknowledgement, and all ids that were read and not acknowledged. */
  const done: string[] = []
  const held = new Set<string>()
  let ackedAt = 0
  let acking = 0
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
    settledCount: () => done.length + acking,
    isAckDue: () => done.length >= ACK.most || now() >= ackedAt + ACK.after,
    async ack(): Promise<void> {
      ackedAt = now()
      const ids = done.splice(0)
      acking += ids.length
      try {
        if (ids.length > 0) await topics.ack(topic, group, ids, true)
        for (const id of ids) held.delete(id)
      } catch (error) {
        done.push(...ids)
        throw error
      } finally {
        acking -= ids.length
      }
    },
  }
}
