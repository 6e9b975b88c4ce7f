import type { Event } from '../core/event.ts'
import type { RouteMatch } from '../core/match.ts'
import { timeOf } from '../core/message-id.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { Store } from '../core/store.ts'
import { createEventFilter } from './event-filter.ts'
import { waitingSince } from './event-rounds.ts'
import { partitionsOf } from './partitions.ts'

export type UnreadStore = Pick<Store, 'topics' | 'journal'>
type Reader = { topic: string; group: string; match?: RouteMatch | undefined }
/** An unread event, and since when it waits (Unix ms). */
export type UnreadEvent = { event: Event; since: number }
/** When a search must stop (as `performance.now`), and whether it stopped early. */
export type TimeLimit = { deadline: number; isCut: boolean }

/** A limit of `ms` from now. */
export function timeLimit(ms: number): TimeLimit {
  return { deadline: performance.now() + ms, isCut: false }
}

/** Events per read. */
const PAGE = 256

/**
 * Counts the unread events of a group that match a filter, and that were published before `until`,
 * with the times of the first and the last (Unix ms). Erased events do not count. `more`: the count took longer than `time` ms.
 */
export async function countUnread(
  store: UnreadStore,
  { until = Number.POSITIVE_INFINITY, ...reader }: Reader & { until?: number | undefined },
  time: number,
): Promise<{ count: number; firstAt?: number; lastAt?: number; more?: true }> {
  const limit = timeLimit(time)
  let [count, firstAt, lastAt] = [0, Number.POSITIVE_INFINITY, 0]
  const counted = () => ({ count, ...(count > 0 && { firstAt, lastAt }) })
  for await (const page of unreadPages(store, reader, limit)) {
    const times = page.map(({ event }) => timeOf(event.id)).filter((at) => at < until)
    count += times.length
    firstAt = Math.min(firstAt, ...times)
    lastAt = Math.max(lastAt, ...times)
  }
  return { ...counted(), ...(limit.isCut && { more: true }) }
}

/**
 * The events that a group has not read and that match a filter, page by page, each partition from
 * its oldest event. Reads ahead of the group, and changes nothing. After `limit`, only the first page
 * is read.
 */
export async function* unreadPages(
  store: UnreadStore,
  { match, ...reader }: Reader,
  limit: TimeLimit,
): AsyncGenerator<UnreadEvent[]> {
  const isWanted = match ? createEventFilter(match, store.journal) : undefined
  let isFirst = true
  for (const partition of partitionsOf(store.topics, reader.topic)) {
    let isMore = true
    const pages = unreadIn(store, { ...reader, partition, isWanted })
    while (isMore) {
      limit.isCut = !isFirst && performance.now() >= limit.deadline
      if (limit.isCut) return
      isFirst = false
      const { value } = await pages.next()
      yield value?.events ?? []
      isMore = value?.more ?? false
    }
  }
}

type Part = Pick<Reader, 'topic' | 'group'> & {
  partition: number
  /** The position after which to begin. */
  after?: number
  isWanted: ((event: Event) => Promise<boolean>) | undefined
}

/**
 * The unread events of a partition that are wanted, by position, page by page. `last`: the id of the
 * last event of a page that was examined.
 */
export async function* unreadIn(
  { topics }: Pick<UnreadStore, 'topics'>,
  { group, topic, partition, after = 0, isWanted = async () => true }: Part,
): AsyncGenerator<{ events: UnreadEvent[]; last: string | undefined; more: boolean }> {
  for (let from = after; ; ) {
    const read = { group, max: PAGE, mode: 'peek', partition, after: from, withRounds: true } as const
    const [batch] = await topics.read(topic, [read]).catch(noneIfAway)
    const items = batch?.items ?? []
    const answers = await Promise.all(items.map(isWanted))
    const rounds = batch?.rounds ?? []
    const events = items.map((event, at) => ({ event, since: waitingSince(event.id, rounds[at]) }))
    const last = items.at(-1)?.id
    const more = last !== undefined && batch?.more === true
    yield { events: events.filter((_, at) => answers[at]), last, more }
    if (!more) return
    from = topics.placeOf(topic, last)?.position ?? Number.POSITIVE_INFINITY
  }
}

/** Events of an unreachable shard are left out, as in the numbers of the group. */
function noneIfAway(error: unknown): [] {
  if (isStoreAway(error)) return []
  throw error
}
