import { z } from 'zod'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Event } from '../core/event.ts'
import { toJson } from '../core/json.ts'
import { matchSchema, type RouteMatch } from '../core/match.ts'
import { timeOf } from '../core/message-id.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { LongWork, WorkKind } from './long-work.ts'
import { partitionsOf } from './partitions.ts'
import { countWanted, createPageReader, type WantedCount, type WantedPage } from './replay-pages.ts'
import { boundary } from './topic-boundary.ts'

/**
 * A range of a topic's events. `since` (inclusive) and `until` (exclusive): Unix ms. `from` and
 * `to`: event ids, both inclusive.
 */
export type EventRange = {
  since?: number | undefined
  until?: number | undefined
  from?: string | undefined
  to?: string | undefined
}

export type ReplayTarget = {
  topic: string
  group: string
  /** The filter of the group. */
  match?: RouteMatch | undefined
  /** The push subscription to which the group belongs, if any. */
  subscription?: string
  range: EventRange
}

export type ReplayEvents = ReturnType<typeof createReplayEvents>

const KIND = 'replay'

const dataSchema = z.object({
  topic: z.string(),
  group: z.string(),
  match: matchSchema.exactOptional(),
  /** Per partition: the last position that is done, and the last one of the range. */
  parts: z.array(z.object({ after: z.number(), last: z.number() })),
  /** Number of redelivered events. Stored jobs have this name. */
  shown: z.number(),
  /** Number of events of the range that the group had not read when the replay came to them. */
  unread: z.number().default(0),
  /** Number of events that the filter left out. */
  filtered: z.number().default(0),
  /** The last event that was examined, if the topic has one partition. */
  lastEvent: z.string().exactOptional(),
  /**
   * Identifies this replay in the store, so that a step that is repeated after a crash does not
   * redeliver twice. The time at which the replay began; 1 for jobs of older versions.
   */
  round: z.number().default(1),
})
type Data = z.infer<typeof dataSchema>
type Topics = Store['topics']

/**
 * What a replay of a range would do. `events`: all retained events of the range. `filtered` is
 * absent without a filter. The times of the first and the last event are Unix ms.
 */
export type ReplayCount = Omit<WantedCount, 'filtered'> & {
  events: number
  filtered?: number
  firstAt?: number
  lastAt?: number
}

/**
 * Redelivers consumed events of a range to a consumer group, as a job with progress. Unread events
 * are delivered anyway.
 */
export function createReplayEvents(deps: {
  store: Pick<Store, 'topics' | 'journal'>
  work: LongWork
  now(): number
}) {
  const { store, work, now } = deps
  const { topics } = store
  work.offer(replayKind(store))
  const partsOf = (topic: string, range: EventRange) => {
    requireRange(range)
    const partitions = partitionsOf(topics, topic)
    return Promise.all(partitions.map((partition) => partOf(topics, topic, partition, range)))
  }
  return {
    /**
     * Registers a function that adds details to a job when it is shown. The function can find the
     * events of a job by its `startedAt`, which is their round.
     */
    describe: (describe: Parameters<LongWork['describe']>[1]) => work.describe(KIND, describe),
    /** Throws `group_not_found`, and `bad_request` for a range that ends before it begins. */
    async begin({ topic, group, match, subscription, range }: ReplayTarget, call: Pick<Call, 'caller'>) {
      requireRange(range)
      await requireGroup(topics, topic, group)
      const parts = await partsOf(topic, range)
      const startedAt = now()
      const data: Data = {
        topic,
        group,
        ...defined({ match }),
        parts,
        shown: 0,
        unread: 0,
        filtered: 0,
        round: startedAt,
      }
      const { since, until, from, to } = range
      const asked = defined({ subscription, since: isoOf(since), until: isoOf(until), from, to })
      const target = { topic, group, ...asked }
      const job = { kind: KIND, target, data: toJson(data), total: leftOf(parts), startedAt }
      return work.begin(job, call)
    },
    /**
     * Counts the retained events of a range, and changes nothing. Without a filter it counts
     * positions, including those of events that were deleted from the middle of the topic. Throws
     * as `begin` does.
     */
    async count({ topic, group, match, range }: Omit<ReplayTarget, 'subscription'>): Promise<ReplayCount> {
      const parts = await partsOf(topic, range)
      const unread = await unreadOf(topics, topic, group, parts)
      const times = await Promise.all(
        parts.map(async ({ after, last }, partition) => {
          if (after >= last) return []
          const [first] = (await topics.tail(topic, after, 1, partition)).items
          const [final] = (await topics.tail(topic, last - 1, 1, partition)).items
          return [first, final].map((found) => found && timeOf(found.event.id))
        }),
      )
      const known = times.flat().filter((time) => time !== undefined)
      if (known.length === 0) return { events: 0, redelivered: 0, unread: 0 }
      const events = leftOf(parts)
      const counts = match
        ? await countWanted(store, { topic, group, match }, parts)
        : { redelivered: events - unread, unread }
      return { events, ...counts, firstAt: Math.min(...known), lastAt: Math.max(...known) }
    },
  }
}

/** Number of positions that are not done. */
function leftOf(parts: Data['parts']): number {
  return parts.reduce((sum, { after, last }) => sum + last - after, 0)
}

/** The events of all parts that a group has not consumed. Throws `group_not_found`. */
async function unreadOf(topics: Topics, topic: string, group: string, parts: Data['parts']): Promise<number> {
  const counts = await Promise.all(
    parts.map((part, partition) => topics.unread(topic, group, { ...part, partition })),
  )
  if (counts.includes(undefined)) throw new TriviumError('group_not_found', { group, topic })
  return counts.reduce<number>((sum, count = 0) => sum + count, 0)
}

function isoOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}

function requireRange({ since = 0, until = Number.POSITIVE_INFINITY, from, to }: EventRange): void {
  const isBackwards = from !== undefined && to !== undefined && from > to
  if (since < until && !isBackwards) return
  throw new TriviumError('bad_request', { reason: 'the range ends before it begins' })
}

/**
 * The part of a partition that a range covers. Ids, and the times in them, ascend with the
 * positions.
 */
async function partOf(topics: Topics, topic: string, partition: number, range: EventRange) {
  const end = await topics.end(topic, partition)
  const isBefore = (event: Event) =>
    timeOf(event.id) < (range.since ?? 0) || (range.from !== undefined && event.id < range.from)
  const isNotAfter = (event: Event) =>
    timeOf(event.id) < (range.until ?? Number.POSITIVE_INFINITY) &&
    (range.to === undefined || event.id <= range.to)
  const before = await boundary(topics, topic, partition, end, isBefore)
  const last = await boundary(topics, topic, partition, end, isNotAfter)
  // Events that retention has deleted are not part of the range.
  const [first] = (await topics.tail(topic, before, 1, partition)).items
  const deletedTo = (first?.position ?? end + 1) - 1
  const after = Math.max(before, Math.min(deletedTo, last))
  return { after, last: Math.max(after, last) }
}

function resultOf({ shown, unread, filtered }: Data) {
  return { events: shown, unread, ...(filtered > 0 && { filtered }) }
}

function replayKind(store: Pick<Store, 'topics' | 'journal'>): WorkKind {
  return {
    kind: KIND,
    async run(job, { save, signal }) {
      const data = dataSchema.parse(job.data)
      const readPage = createPageReader(store, data)
      for (const [partition, part] of data.parts.entries()) {
        while (part.after < part.last) {
          signal.throwIfAborted()
          const page = await readPage(part, partition)
          const { redelivered, unread } = await redeliver(store.topics, data, page)
          part.after = page.last
          data.shown += redelivered
          data.unread += unread
          data.filtered += page.filtered
          if (page.lastId !== undefined && data.parts.length === 1) data.lastEvent = page.lastId
          await save({ data: toJson(data), done: job.total - leftOf(data.parts) })
        }
      }
      return resultOf(data)
    },
    soFar({ data }) {
      const known = dataSchema.parse(data)
      return { ...resultOf(known), ...defined({ lastEvent: known.lastEvent }) }
    },
  }
}

/**
 * Redelivers the wanted events of a page. `restore` does not change unread ones, which the group
 * gets anyway: they are subtracted from the number of redelivered events.
 */
async function redeliver(
  topics: Topics,
  { topic, group, round }: Pick<Data, 'topic' | 'group' | 'round'>,
  { wanted, unread }: WantedPage,
): Promise<{ redelivered: number; unread: number }> {
  const restored = await Promise.all(wanted.map(({ event }) => topics.restore(topic, group, event.id, round)))
  // Retention may have deleted an event, or somebody the group.
  if (!restored.every(Boolean)) await requireGroup(topics, topic, group)
  const existing = restored.filter(Boolean).length
  return { redelivered: Math.max(0, existing - unread), unread: Math.min(existing, unread) }
}

async function requireGroup(topics: Topics, topic: string, group: string): Promise<void> {
  const [known] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  if (!known) throw new TriviumError('group_not_found', { group, topic })
}
