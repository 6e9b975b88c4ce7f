import { isDeepStrictEqual } from 'node:util'
import type { Event } from '../../core/event.ts'
import { missedIn } from '../../core/message-id.ts'
import type { GroupBatch, Topics } from '../../core/store.ts'
import { withGap } from '../../engine/with-gap.ts'
import { type Lanes, laneOf } from './lanes.ts'
import type { Control, Records } from './records.ts'

/** Events from one read. Reading further ahead keeps more of them alive in V8's young generation, which costs more than reading less. */
const MOST = 256
/** Acknowledged together: so many, or what there is after so many ms. */
export const ACK = { most: 1_000, after: 100 }

/**
 * Of each partition: whether the group may have more than was read, a position up to which all is held or done, so that the next
 * read begins behind it (0 where that is not sure), and whether something may have become visible before that since the last
 * read from the start.
 */
type Partition = { partition: number; hasMore: boolean; readTo: number; isBehind: boolean }

type ReadingDeps = {
  topics: Pick<Topics, 'read' | 'ack' | 'partitions' | 'placeOf'>
  topic: string
  group: string
  control: Control
  records: Pick<Records, 'control'>
  lanes: Lanes
  /** Whether the subscription wants an event; absent: all. */
  wants?: ((event: Event) => Promise<boolean>) | undefined
  /** Whether an event of a lane that may have jobs may become one too. */
  mayLeave(lane: string): boolean
  now(): number
}

/**
 * Reads the group of one subscription ahead into its lanes, and acknowledges what is done. It peeks, so that a crash hides
 * nothing; one daemon does this at a time.
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
    // A pause is written before what it holds back is published, and a replay before its group begins anew.
    if (first && !isDeepStrictEqual(await deps.records.control(), deps.control)) return
    const isGap = first !== undefined && missedIn(first.id) > 0
    let isAllTaken = !isGap
    const wanted = deps.wants && !isGap ? await Promise.all(fresh.map(deps.wants)) : []
    // What tells of missed events has another id once others are acknowledged.
    for (const [at, event] of isGap ? [[0, first] as const] : fresh.entries()) {
      if (held.add(event, wanted[at] !== false, isGap)) from.hasMore = true
      else isAllTaken = false
    }
    // Large events come few at a time, so that only an answer without any is the end.
    const last = events.at(-1)
    if (isAllTaken && last) from.readTo = topics.placeOf(topic, last.id)?.position ?? 0
    from.hasMore ||= from.readTo > 0 || (last === undefined && from.isBehind)
  }

  return {
    /** Events became visible, in that partition or anywhere. */
    look(at?: number): void {
      for (const each of at === undefined ? partitions : partitions.slice(at, at + 1))
        each.hasMore = each.isBehind = true
    },
    /** What was read may not have been taken: it is read again. */
    again(): void {
      for (const each of partitions) each.hasMore = true
    },
    hasMore: () => partitions.some(({ hasMore }) => hasMore),
    /** Reads ahead; what nobody wants is done. */
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
    isAckDue: held.isAckDue,
    ack: held.ack,
  }
}

/** The events that were read and are not acknowledged: in lanes, or done. */
function createHeld({ topics, topic, group, control, lanes, mayLeave, now }: ReadingDeps) {
  const { since } = control.replay ?? { since: 0 }
  /** Ids that need nothing more but to be acknowledged; all that were read and are not. */
  const done: string[] = []
  const held = new Set<string>()
  let ackedAt = 0
  return {
    has: (id: string) => held.has(id),
    /** Holds an event, or what tells of missed ones; false where it has to be read again. */
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
    /** An event was sent, or is a job now. */
    done: (event: Event) => void done.push(event.id),
    doneCount: () => done.length,
    isAckDue: () => done.length >= ACK.most || now() >= ackedAt + ACK.after,
    async ack(): Promise<void> {
      ackedAt = now()
      const ids = done.splice(0)
      try {
        if (ids.length > 0) await topics.ack(topic, group, ids, true)
        for (const id of ids) held.delete(id)
      } catch (error) {
        done.push(...ids)
        throw error
      }
    },
  }
}
