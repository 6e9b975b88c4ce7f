import type { Event } from '../core/event.ts'
import type { RouteMatch } from '../core/match.ts'
import type { PlacedEvent, Store } from '../core/store.ts'
import { createEventFilter } from './event-filter.ts'

type Topics = Store['topics']
/** `only`: ids of the events to count; by default all. */
type Group = {
  topic: string
  group: string
  match?: RouteMatch | undefined
  only?: readonly string[] | undefined
}
/** The last position that is done, and the last one of the range. */
type Part = { after: number; last: number }
type Journal = Pick<Store['journal'], 'get'>

/** Events read at a time. */
const PAGE = 500
/** Maximum time (ms) of a count with a filter. */
const COUNT_TIME = 2_000

/** The numbers of events of a range, for a group with a filter. */
export type WantedCount = {
  /** Events that the group has consumed and gets again. */
  redelivered: number
  /** Events that the group gets anyway. */
  unread: number
  /** Events that the filter leaves out. */
  filtered: number
  /** The count took too long, and later events are not counted. */
  more?: true
}

/**
 * The next events of a part that the group wants. `last`: the last position of the page; `lastId`:
 * its last event.
 */
export type WantedPage = {
  wanted: PlacedEvent[]
  unread: number
  filtered: number
  last: number
  lastId: string | undefined
}

/** Counts the events of all parts that a group with a filter wants, for at most `time` ms. */
export async function countWanted(
  deps: { topics: Topics; journal: Journal },
  group: Group,
  parts: readonly Part[],
  time = COUNT_TIME,
): Promise<WantedCount> {
  const readPage = createPageReader(deps, group)
  const deadline = performance.now() + time
  const counts: WantedCount = { redelivered: 0, unread: 0, filtered: 0 }
  for (const [partition, { after, last }] of parts.entries()) {
    let done = after
    while (done < last) {
      if (performance.now() >= deadline) return { ...counts, more: true }
      const page = await readPage({ after: done, last }, partition)
      counts.redelivered += page.wanted.length - page.unread
      counts.unread += page.unread
      counts.filtered += page.filtered
      done = page.last
    }
  }
  return counts
}

/** Returns the function that reads the next page of a part. */
export function createPageReader({ topics, journal }: { topics: Topics; journal: Journal }, group: Group) {
  const { topic, match } = group
  const only = group.only && new Set(group.only)
  const isWanted = match ? createEventFilter(match, journal) : async (_: Event) => true
  return async (part: Part, partition: number): Promise<WantedPage> => {
    const max = Math.min(PAGE, part.last - part.after)
    const { items } = await topics.tail(topic, part.after, max, partition)
    const found = items.filter(({ position }) => position <= part.last)
    const isEnd = found.length === 0 || found.length < items.length
    const last = isEnd ? part.last : (found.at(-1)?.position ?? part.last)
    const selected = only ? found.filter(({ event }) => only.has(event.id)) : found
    const answers = await Promise.all(selected.map(({ event }) => isWanted(event)))
    const wanted = selected.filter((_, at) => answers[at])
    const unread = await unreadAmong(topics, group, { after: part.after, last, partition }, wanted)
    const lastId = found.at(-1)?.event.id
    return { wanted, unread, filtered: selected.length - wanted.length, last, lastId }
  }
}

/**
 * The number of wanted events of a page that the group has not consumed. Asks the store about
 * single events only if the counts of the page leave it open.
 */
async function unreadAmong(
  topics: Topics,
  { topic, group }: Group,
  page: Part & { partition: number },
  events: readonly PlacedEvent[],
): Promise<number> {
  const unread = (await topics.unread(topic, group, page)) ?? 0
  const size = page.last - page.after
  if (unread === 0 || events.length === 0) return 0
  if (unread >= size || events.length === size) return Math.min(events.length, unread)
  const { partition } = page
  if (unread >= size - (await topics.erased(topic, page))) return Math.min(events.length, unread)
  const counts = await Promise.all(
    events.map(({ position }) =>
      topics.unread(topic, group, { after: position - 1, last: position, partition }),
    ),
  )
  return counts.reduce<number>((sum, count = 0) => sum + count, 0)
}
