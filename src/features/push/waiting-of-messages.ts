import { MESSAGE_TOPIC } from '../../core/event.ts'
import { timeIn, timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import type { WaitingPush } from '../../core/waiting-push.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { type TimeLimit, timeLimit, unreadPages } from '../../engine/unread-events.ts'
import { eventOfJob, jobsOf } from './queued-jobs.ts'
import { queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'

type Stores = Pick<Store, 'erasing' | 'journal' | 'topics'>

/** How long (ms) the unread events of all pushes are searched. */
const SEARCH_TIME = 1_000

/**
 * What each push has still to send of these messages, whether it waits in the topic or in its queue.
 * `more`: the search took too long, and there may be others.
 */
export async function waitingOfMessages(
  store: Stores,
  subscriptions: readonly PushSubscription[],
  messages: ReadonlySet<string>,
): Promise<{ pushes: WaitingPush[]; more?: true }> {
  if (messages.size === 0) return { pushes: [] }
  const groups = new Map((await store.topics.groups(MESSAGE_TOPIC)).map((info) => [info.group, info]))
  const limit = timeLimit(SEARCH_TIME)
  const pushes: WaitingPush[] = []
  let isCut = false
  for (const subscription of subscriptions.filter(({ topic }) => topic === MESSAGE_TOPIC)) {
    const { name } = subscription
    const { lag = 0, pending = 0 } = groups.get(name) ?? {}
    const queued = await jobsOf(store, queueOf(name), Number.POSITIVE_INFINITY)
    // An event may be both while a push takes it.
    const since = new Map(
      queued.jobs
        .map(({ id }) => ({ id: eventOfJob(id), at: timeIn(id) }))
        .filter(({ id }) => messages.has(id))
        .map(({ id, at }) => [id, at ?? timeOf(id)]),
    )
    const taken = new Set(since.keys())
    if (lag + pending > 0) await addUnread(store, subscription, { messages, since, limit })
    isCut ||= queued.isCut || limit.isCut
    if (since.size > 0) pushes.push({ name, ...countsOf(since, taken) })
  }
  return { pushes, ...(isCut && { more: true }) }
}

/** `since`: since when the event of each message waits. `taken`: those that are in the queue. */
function countsOf(since: ReadonlyMap<string, number>, taken: ReadonlySet<string>) {
  const { replayed = [], fresh = [] } = Object.groupBy(since, ([id, at]) =>
    at > timeOf(id) ? 'replayed' : 'fresh',
  )
  const unreadOf = (some: typeof fresh) => some.filter(([id]) => !taken.has(id)).length
  return {
    count: since.size,
    replayed: replayed.length,
    since: Math.min(...(fresh.length > 0 ? fresh : replayed).map(([, at]) => at)),
    unread: { fresh: unreadOf(fresh), replayed: unreadOf(replayed) },
  }
}

type Found = { messages: ReadonlySet<string>; since: Map<string, number>; limit: TimeLimit }

/** The filter of a push needs each message, so it is applied to the wanted ones alone. */
async function addUnread(
  store: Stores,
  { name, topic, match }: PushSubscription,
  { messages, since, limit }: Found,
): Promise<void> {
  const isSent = match ? createEventFilter(match, store.journal) : async () => true
  for await (const page of unreadPages(store, { topic, group: name }, limit))
    for (const unread of page)
      if (messages.has(unread.event.id) && (await isSent(unread.event)))
        since.set(unread.event.id, since.get(unread.event.id) ?? unread.since)
}
