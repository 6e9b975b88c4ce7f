import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, toJson } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import type { RouteMatch } from '../core/match.ts'
import { timeOf } from '../core/message-id.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { type EventRange, isInRange } from './event-range.ts'
import { createLaterEvents, type LaterEvents } from './later-replays.ts'
import type { LongWork } from './long-work.ts'
import { partitionsOf } from './partitions.ts'
import { type EventQueue, queuedEvents } from './queued-events.ts'
import { createReplayItems, type ItemStates } from './replay-items.ts'
import { countWanted, type WantedCount } from './replay-pages.ts'
import { partOf } from './replay-parts.ts'
import { createReplayReads, type NoReaderOf } from './replay-reads.ts'
import { createWithdrawnBy, withdrawFromGroup } from './replay-withdrawal.ts'
import { type Data, eventsIn, KIND, replayKind, requireGroup } from './replay-work.ts'
import { createReplayedSince } from './replayed-since.ts'
import { QUEUE as SKILL_QUEUE } from './subscription-runner.ts'

export type ReplayTarget = {
  topic: string
  group: string
  /** The filter of the group. */
  match?: RouteMatch | undefined
  /** The push subscription to which the group belongs, if any. */
  subscription?: string
  range: EventRange
  /** Only the events withdrawn with a cancelled replay: its job, and their ids. */
  only?: { job: string; ids: readonly string[] } | undefined
}

/**
 * A cancelled replay, by its `round`. `last`: the last positions of its range, by partition. `keep`: the
 * events of later replays, which left out those that waited as jobs of this one.
 */
type Withdrawn = { round: number; last: number[]; keep: LaterEvents[] }
type WithdrawPush = (job: LongJob, withdrawn: Withdrawn, signal: AbortSignal) => Promise<JsonObject>

export type ReplayEvents = ReturnType<typeof createReplayEvents>

type ReplayStore = Pick<Store, 'topics' | 'journal' | 'erasing' | 'kv'>
type Topics = Store['topics']

/**
 * What a replay of a range would do. `events`: all retained events of the range. `queued`: those that
 * wait for an attempt as jobs, and are left out; with `queuedMore`, there may be more. `filtered` is
 * absent without a filter. The times of the first and the last event are Unix ms.
 */
export type ReplayCount = Omit<WantedCount, 'filtered'> & {
  events: number
  queued?: number
  queuedMore?: true
  filtered?: number
  firstAt?: number
  lastAt?: number
}

/** How long (ms) the answer to a replay waits until it has queued its events. */
const ANSWER_TIME = 1_000

/**
 * Redelivers consumed events of a range to a consumer group, as a job with progress. Unread events
 * are delivered anyway, and so are those that wait for an attempt as jobs.
 */
export function createReplayEvents(deps: { store: ReplayStore; work: LongWork; now(): number }) {
  const { store, work } = deps
  const { topics } = store
  let pushQueueOf: (topic: string, group: string) => EventQueue | undefined = () => undefined
  const queueOf = (topic: string, group: string) =>
    pushQueueOf(topic, group) ?? { queue: SKILL_QUEUE, prefix: `${topic}/${group}/` }
  let noReaderOf: NoReaderOf = async () => undefined
  let withdrawPush: WithdrawPush = async () => ({})
  const laterThan = createLaterEvents(work)
  const withReads = createReplayReads(topics, work, (topic, group) => noReaderOf(topic, group))
  const since = createReplayedSince(store, work)
  work.describe(KIND, since.describing(withReads))
  const withdraw: Parameters<typeof replayKind>[1]['withdraw'] = async (job, last, signal) => {
    const withdrawal = { round: job.startedAt, last: [...last] }
    if (job.target.subscription !== undefined)
      return withdrawPush(job, { ...withdrawal, keep: await laterThan(job) }, signal)
    return withdrawFromGroup(store, job, withdrawal, signal)
  }
  work.offer(replayKind(store, { queueOf, withdraw }))
  const partsOf = (topic: string, range: EventRange) => {
    requireRange(range)
    const partitions = partitionsOf(topics, topic)
    return Promise.all(partitions.map((partition) => partOf(topics, topic, partition, range)))
  }
  const begin = createBegin(deps, partsOf)
  return {
    /**
     * Registers a function that adds details to a job when it is shown. The function can find the
     * events of a job by its `startedAt`, which is their round.
     */
    describe: (describe: Parameters<LongWork['describe']>[1]) =>
      work.describe(
        KIND,
        since.describing(async (jobs) => describe(await withReads(jobs))),
      ),
    /** All replays of the last week, newest first. */
    jobs: () => work.ofKind(KIND),
    /** Registers a function that returns the queue of a push, if the group belongs to one. */
    findPushQueue(find: typeof pushQueueOf): void {
      pushQueueOf = find
    },
    /** Registers a function that returns who read a group last, if nothing reads it now. */
    findReader(find: NoReaderOf): void {
      noReaderOf = find
    },
    /** Registers the function that withdraws the events of a replay to a push. */
    withdrawFromPush(run: WithdrawPush): void {
      withdrawPush = run
    },
    /** Throws `group_not_found`, and `bad_request` for a range that ends before it begins. */
    begin,
    /** The same, and waits a moment for the end: the answer to most replays says what they queued. */
    async beginAndWait(target: ReplayTarget, call: Pick<Call, 'caller' | 'signal'>): Promise<LongJob> {
      const { id } = await begin(target, call)
      return work.wait(id, ANSWER_TIME, call.signal)
    },
    count: createCount(store, partsOf, queueOf),
    /** `job-items` of a replay. `pushStates`: what became of events of a push. */
    items: (pushStates: ItemStates) => createReplayItems({ store, work, since: since.known, pushStates }),
    /**
     * The events that a cancelled replay to the group withdrew and that no later one has, for `begin`.
     * Throws `job_not_found`, and `bad_request` if they are not known, or there are none.
     */
    withdrawnBy: createWithdrawnBy(store.kv, work, since),
  }
}

/** Makes the function that starts a replay. */
function createBegin(
  { store: { topics }, work, now }: { store: ReplayStore; work: LongWork; now(): number },
  partsOf: (topic: string, range: EventRange) => Promise<Data['parts']>,
) {
  return async (
    { topic, group, match, subscription, range, only }: ReplayTarget,
    call: Pick<Call, 'caller'>,
  ): Promise<LongJob> => {
    requireRange(range)
    await requireGroup(topics, topic, group)
    const parts = await partsOf(topic, range)
    const startedAt = now()
    const data: Data = {
      topic,
      group,
      ...defined({ match, only: only && [...only.ids] }),
      parts,
      shown: 0,
      gone: 0,
      unread: 0,
      queued: 0,
      filtered: 0,
      round: startedAt,
    }
    const { since, until, from, to } = range
    const times = { since: isoOf(since), until: isoOf(until), from, to }
    const asked = defined({ subscription, ...times, withdrawn: only?.job })
    const target = { topic, group, ...asked }
    const job = {
      kind: KIND,
      target,
      data: toJson(data),
      total: only?.ids.length ?? (await eventsIn(topics, topic, parts)),
      startedAt,
    }
    return work.begin(job, call)
  }
}

/**
 * Counts the retained events of a range, and changes nothing. Without a filter it counts
 * positions, without those of erased events. Throws as `begin` does.
 */
function createCount(
  store: ReplayStore,
  partsOf: (topic: string, range: EventRange) => Promise<Data['parts']>,
  queueOf: (topic: string, group: string) => EventQueue,
) {
  const { topics } = store
  return async ({
    topic,
    group,
    match,
    range,
    only,
  }: Omit<ReplayTarget, 'subscription'>): Promise<ReplayCount> => {
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
    const events = only?.ids.length ?? (await eventsIn(topics, topic, parts))
    const isSelected = new Set(only?.ids)
    const counts =
      match || only
        ? await countWanted(store, { topic, group, match, only: only?.ids }, parts)
        : { redelivered: events - unread, unread }
    const { ids, isCut } = await queuedEvents(store.erasing, queueOf(topic, group))
    const queued = [...ids].filter((id) => (only ? isSelected.has(id) : isInRange(id, range))).length
    return {
      events,
      ...counts,
      redelivered: Math.max(0, counts.redelivered - queued),
      ...(queued > 0 && { queued }),
      ...(isCut && { queuedMore: true }),
      firstAt: Math.min(...known),
      lastAt: Math.max(...known),
    }
  }
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
