import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import { SEARCHED_LENGTH } from '../../core/message-query.ts'
import { askAll } from '../../core/reachable.ts'
import type { Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'
import { partitionsOf } from '../../engine/partitions.ts'
import { defined } from '../../lib/defined.ts'
import { UNFINISHED } from '../../lib/outcomes.ts'
import { dropOldest, MAX_REPLAYED, MAX_WATCHED, type MessageState, type Readers } from './readers.ts'
import type { Reader } from './stream.ts'

/** Maximum number of messages per poll: 1,200 a second at four polls a second. */
const PAGE_SIZE = 300
/** Maximum number of pages per poll: other partitions may have many newer messages. */
const MAX_PAGES = 10
const FIRST_PAGE = { limit: PAGE_SIZE, isPartial: true }
/** Up to this many outcomes are checked in every poll. More are checked in every fourth. */
const MAX_EACH_POLL = 100
/** Outcomes that do not change any more. */
const FINAL = /^(dropped|merged|bounced|suppressed)$/
/** Outcomes after dispatch, which change to `replying` or `bounced` if the reply fails. */
const DISPATCHED = /^(done|unrouted)$/
/** How long (ms) the outcomes of dispatched messages are checked, in every fourth poll. */
const DISPATCHED_CHECKED = 5 * MINUTE

/** Sends readers new messages, and later their outcomes. */
export function createMessageChanges(
  { journal, topics }: Pick<Store, 'journal' | 'topics'>,
  readers: Readers,
  now: () => number,
) {
  const watched = createWatched(now)
  /**
   * Per partition: the position of the last message that was sent. A partition that could not be
   * reached yet is missing.
   */
  const sent = new Map<number, number>()
  const readEnds = async () => {
    const { answers } = await askAll(partitionsOf(topics, MESSAGE_TOPIC), async (partition) => {
      return [partition, await topics.end(MESSAGE_TOPIC, partition)] as const
    })
    return new Map(answers)
  }
  const findNewest = createFindNewest({ journal, topics })

  return {
    /** Starts after the newest message. Watches the outcomes of existing messages. */
    async start(): Promise<void> {
      sent.clear()
      for (const [partition, end] of await readEnds()) sent.set(partition, end)
      const { found } = await journal.search({ ...FIRST_PAGE, outcomes: UNFINISHED })
      const { found: newest } = await journal.search(FIRST_PAGE)
      const isLatelyDispatched = ({ message: { id }, outcome }: MessageState) =>
        DISPATCHED.test(outcome) && timeOf(id) > now() - DISPATCHED_CHECKED
      for (const state of [...newest.filter(isLatelyDispatched), ...found].reverse()) watched.add(state)
    },
    async sendMessages(): Promise<void> {
      const ranges = new Map<number, Range>()
      for (const [partition, end] of await readEnds()) {
        const after = sent.get(partition)
        if (after === undefined) sent.set(partition, end)
        else if (end > after) ranges.set(partition, { after, end })
      }
      if (ranges.size === 0) return
      const { found, missed, away } = await findNewest(ranges, PAGE_SIZE)
      // The messages of a partition that went away are sent once it is back.
      for (const partition of away) ranges.delete(partition)
      for (const [partition, { end }] of ranges) sent.set(partition, end)
      for (const state of found) watched.add(state)
      readers.show(found, missed)
    },
    /**
     * Sends outcomes that changed. With `isDue`, it checks also many outcomes, and those of
     * dispatched messages.
     */
    async sendOutcomes(isDue: boolean): Promise<void> {
      const unfinished = watched.unfinished()
      if (unfinished.length > MAX_EACH_POLL && !isDue) return
      const all = isDue ? [...unfinished, ...watched.latelyDispatched()] : unfinished
      const outcomes = await journal.outcomesIfReachable(all.map(({ message }) => message.id))
      for (const [index, { message, outcome: before }] of all.entries()) {
        const outcome = outcomes[index]
        // The message has expired.
        if (!outcome) watched.forget(message.id)
        if (!outcome || outcome === 'unreachable' || outcome === before) continue
        watched.add({ message, outcome })
        readers.sendOutcome({ message, outcome }, before, now())
      }
    },
    /** Sends a returning reader the messages since the last one that it received. */
    async replay(reader: Reader): Promise<void> {
      const last = topics.placeOf(MESSAGE_TOPIC, reader.after ?? '')
      if (!last || !reader.wants('message')) return
      // The reader's positions in other partitions are unknown. It is assumed to be as many
      // messages behind there.
      const count = (sent.get(last.partition) ?? 0) - last.position
      if (count <= 0) return
      const ranges = new Map<number, Range>()
      for (const [partition, end] of sent) ranges.set(partition, { after: Math.max(0, end - count), end })
      const { found, missed, away } = await findNewest(ranges, MAX_REPLAYED)
      // This reader does not get the messages of unreachable partitions later.
      const unreachable = away.flatMap((partition) => ranges.get(partition) ?? [])
      readers.show(found, missed + lengthOf(unreachable), reader)
    },
  }
}

/** The messages whose outcomes are checked: up to `MAX_WATCHED` of each kind. */
function createWatched(now: () => number) {
  const unfinished = new Map<string, MessageState>()
  const dispatched = new Map<string, MessageState & { until: number }>()
  const forget = (id: string) => {
    unfinished.delete(id)
    dispatched.delete(id)
  }
  return {
    /** Adds a message with its current outcome, unless that is final. */
    add({ message, outcome }: MessageState): void {
      forget(message.id)
      if (FINAL.test(outcome)) return
      const state = { message: shorten(message), outcome }
      if (DISPATCHED.test(outcome)) {
        dispatched.set(message.id, { ...state, until: now() + DISPATCHED_CHECKED })
        dropOldest(dispatched, MAX_WATCHED)
      } else {
        unfinished.set(message.id, state)
        dropOldest(unfinished, MAX_WATCHED)
      }
    },
    forget,
    unfinished: (): MessageState[] => [...unfinished.values()],
    latelyDispatched(): MessageState[] {
      for (const [id, { until }] of dispatched) if (until < now()) dispatched.delete(id)
      return [...dispatched.values()]
    },
  }
}

/** The positions after `after`, up to `end`. */
type Range = { after: number; end: number }

type Newest = {
  /** Oldest first. */
  found: MessageState[]
  /** Number of omitted messages. */
  missed: number
  /** Partitions that could not be reached. None of their messages are in `found` or `missed`. */
  away: number[]
}

/** Returns the function that finds the newest `max` messages of a range in each partition. */
function createFindNewest({ journal, topics }: Pick<Store, 'journal' | 'topics'>) {
  return async function findNewest(ranges: ReadonlyMap<number, Range>, max: number): Promise<Newest> {
    const total = lengthOf(ranges.values())
    const wanted = Math.min(max, total)
    const found: MessageState[] = []
    /** Partitions whose range has been read. */
    const passed = new Set<number>()
    let before: string | undefined
    for (let page = 0; page < MAX_PAGES && found.length < wanted && passed.size < ranges.size; page++) {
      // Usually, the newest messages of all partitions are those in the ranges.
      const limit = page === 0 ? Math.min(PAGE_SIZE, wanted) : PAGE_SIZE
      const read = await journal.search({ limit, before, isPartial: true })
      const away = read.away?.filter((partition) => ranges.has(partition)) ?? []
      if (away.length > 0) {
        const rest = await findNewest(new Map([...ranges].filter(([at]) => !away.includes(at))), max)
        return { ...rest, away: [...rest.away, ...away] }
      }
      for (const state of read.found) {
        const { partition = 0, position = 0 } = topics.placeOf(MESSAGE_TOPIC, state.message.id) ?? {}
        const range = ranges.get(partition)
        // Messages after `end`, and in partitions without a range, are for the next poll.
        if (!range || position > range.end) continue
        if (position > range.after) found.push(state)
        else passed.add(partition)
      }
      if (read.next === undefined) break
      before = read.next
    }
    const newest = found.slice(0, max)
    return { found: newest.reverse(), missed: total - newest.length, away: [] }
  }
}

function lengthOf(ranges: Iterable<Range>): number {
  let sum = 0
  for (const { after, end } of ranges) sum += end - after
  return sum
}

/**
 * A message without large fields that filters ignore. The start of the text is copied, because a
 * slice would keep the whole text in memory.
 */
function shorten({ html: _html, data: { event, query }, text, ...rest }: Message): Message {
  return {
    ...rest,
    data: defined({ event, query }),
    text: Buffer.from(text.slice(0, SEARCHED_LENGTH)).toString(),
  }
}
