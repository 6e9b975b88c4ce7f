import { timeOf } from '../../core/message-id.ts'
import { askAll } from '../../core/reachable.ts'
import type { GroupInfo } from '../../core/store.ts'
import { oldestOf } from '../../engine/group-oldest.ts'
import { partitionsOf } from '../../engine/partitions.ts'
import { timeLimit, type UnreadStore, unreadPages } from '../../engine/unread-events.ts'
import { defined } from '../../lib/defined.ts'
import type { PushSubscription } from './schema.ts'

type Reader = Pick<PushSubscription, 'name' | 'topic' | 'match'>

/** What a push has not read. */
export type UnreadCount = {
  /** Number of events that match the filter, and will be sent. */
  matching: number
  /** How many of them a replay sends again. */
  replayed: number
  /** The count took too long: later events were not compared with the filter. */
  more?: true
  /** Since when the oldest of them waits (Unix ms). */
  oldestAt?: number
}

/** Maximum time (ms) of a count. It goes on while nobody waits for it. */
const COUNT_TIME = 5_000
/** How long (ms) the status waits for a count, and how long somebody who looks at one push does. */
const PATIENCE = { status: 100, show: 2_000 }
/**
 * A count is repeated after a multiple of the time that it took at the earliest: of a short one (up to
 * `SHORT` ms), of a longer one, and of a longer one for somebody who looks at one push.
 */
const REST = { short: 20, long: 4, show: 1 }
const SHORT = 100
/** How long (ms) a count is kept while the group does not change: an erasure may remove events. */
const LIFETIME = 30_000

/** `key`: the state of the group that is counted. */
type Running = { key: string; progress: UnreadCount; done: Promise<UnreadCount> }
/** The last count of a push, and the one that is being made. */
type Counted = {
  last?: { key: string; at: number; took: number; count: UnreadCount }
  running?: Running | undefined
}

/** Who asks: the status each second, or somebody who looks at one push and waits for a new count. */
export type AskedBy = 'status' | 'show'

export type UnreadCounts = ReturnType<typeof createUnreadCounts>

/**
 * Counts what push subscriptions have not read and will send. The counts are remembered while nothing
 * changes, and those for the status take at most a fifth of the time. Whoever cannot wait for the end of
 * a count gets the last one, or what has been counted so far, with `more`.
 */
export function createUnreadCounts(store: UnreadStore) {
  const all = new Map<string, Counted>()

  const begin = (counted: Counted, key: string, count: (into: UnreadCount) => Promise<UnreadCount>) => {
    const began = performance.now()
    const progress: UnreadCount = { matching: 0, replayed: 0 }
    const ended = async () => {
      try {
        const found = await count(progress)
        const at = performance.now()
        counted.last = { key, at, took: at - began, count: found }
        return found
      } finally {
        if (counted.running === running) counted.running = undefined
      }
    }
    const running: Running = { key, progress, done: ended() }
    // It may fail while nobody waits for it.
    running.done.catch(() => {})
    counted.running = running
    return running
  }

  const countOf = async (
    reader: Reader,
    info: GroupInfo,
    { by, count }: { by: AskedBy; count(into: UnreadCount): Promise<UnreadCount> },
  ): Promise<UnreadCount> => {
    const { name, topic, match } = reader
    const partitions = partitionsOf(store.topics, topic)
    const { answers: ends } = await askAll(partitions, (each) => store.topics.end(topic, each))
    const key = JSON.stringify([topic, match, info.lag, info.pending, info.again, ends])
    const counted = all.get(name) ?? {}
    all.set(name, counted)
    const { last, running } = counted
    if (last && performance.now() - last.at < (last.key === key ? LIFETIME : restOf(last.took, by)))
      return last.count
    if (running && by === 'status') return last?.count ?? soFar(running.progress)
    // One that was begun before the last events came would be too low for a question that names it.
    const { done, progress } = running?.key === key ? running : begin(counted, key, count)
    return (await within(done, PATIENCE[by])) ?? counted.last?.count ?? soFar(progress)
  }

  return async (
    reader: Reader,
    info: GroupInfo | undefined,
    by: AskedBy = 'status',
  ): Promise<UnreadCount> => {
    if (info && info.lag + info.pending > 0) {
      if (reader.match)
        return countOf(reader, info, { by, count: (into) => countMatching(store, reader, into) })
      const oldest = await oldestOf(store.topics, info)
      const matching = { matching: info.lag + info.pending, ...defined({ oldestAt: oldest?.since }) }
      // Without a replay, unread events are not pending, and wait since their publication.
      const isReplayed = info.pending > 0 || (oldest !== undefined && oldest.since > timeOf(oldest.id))
      if (!isReplayed) return { ...matching, replayed: 0 }
      const count = (into: UnreadCount) => countReplayed(store, { reader, info }, into)
      return { ...matching, replayed: (await countOf(reader, info, { by, count })).replayed }
    }
    all.delete(reader.name)
    return { matching: 0, replayed: 0 }
  }
}

function restOf(took: number, by: AskedBy): number {
  if (by === 'show') return took > SHORT ? took * REST.show : 0
  return Math.max(Math.min(took, SHORT) * REST.short, took * REST.long)
}

function soFar(progress: UnreadCount): UnreadCount {
  return { ...progress, more: true }
}

/** The result of a promise; undefined if it takes longer than `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => timeout.resolve(undefined), ms)
  try {
    return await Promise.race([promise, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Counts what is replayed to a push without a filter: the store knows it, unless all unread events are
 * of a group that was moved back. Those of an unreachable shard are left out.
 */
async function countReplayed(
  store: UnreadStore,
  { reader, info }: { reader: Reader; info: GroupInfo },
  into: UnreadCount,
): Promise<UnreadCount> {
  const { topics } = store
  const partitions = partitionsOf(topics, reader.topic)
  const { answers } = await askAll(partitions, (each) => topics.redelivered(reader.topic, reader.name, each))
  const rounds = answers.flatMap((answer) => answer?.rounds ?? [])
  const replayed = rounds.reduce((sum, round) => sum + round.count, 0)
  if (replayed > 0 || info.pending > 0) return { matching: 0, replayed }
  return countMatching(store, reader, into)
}

/** `into`: what has been counted so far. */
async function countMatching(store: UnreadStore, reader: Reader, into: UnreadCount): Promise<UnreadCount> {
  const limit = timeLimit(COUNT_TIME)
  for await (const page of unreadPages(store, { ...reader, group: reader.name }, limit)) {
    into.matching += page.length
    for (const { event, since } of page) {
      into.oldestAt = Math.min(into.oldestAt ?? since, since)
      if (since > timeOf(event.id)) into.replayed++
    }
  }
  return { ...into, ...(limit.isCut && { more: true }) }
}
