import { z } from 'zod'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { timeIn, timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { withTexts } from '../../engine/message-texts.ts'
import { timeLimit, unreadPages } from '../../engine/unread-events.ts'
import { defined } from '../../lib/defined.ts'
import { waitsForProbe } from './listing.ts'
import { eventOfJob, jobsOf } from './queued-jobs.ts'
import { createRecords, queueOf, type Report } from './records.ts'
import type { PushSubscription } from './schema.ts'

/** Maximum time (ms) of the search for unread events that match the filter. */
const SEARCH_TIME = 2_000
/** Maximum number of unread events that are sorted: replayed ones come first, and wait since then. */
const MAX_SEARCHED = 10_000

/** An event that a push will send. Times in Unix ms. */
type WaitingEvent = {
  id: string
  publishedAt: number
  /** Since when it waits: its publication, its replay, or its retry as a dead letter. */
  since: number
  /**
   * `retrying`: an attempt failed, and it has a next one. `queued`: it waits for an attempt, or behind
   * an earlier event. `unread`: it waits in the topic; it may have been tried while the receiver fails.
   */
  state: 'retrying' | 'queued' | 'unread'
  /** The number of the last attempt, and why it failed. */
  attempt?: number
  error?: string
  nextAt?: number
  /** The receiver fails: this event waits until it accepts one, and `nextAt` may be that of another. */
  held?: 'failing'
  /** Whether a replay sends it again. */
  replayed?: true
  /** Sender and subject of a message, if the caller may read it. */
  text?: string
}

type WaitingEvents = {
  events: WaitingEvent[]
  waiting: number
  replayed?: number
  least?: true
  more: boolean
  next?: string
}

type Asked = {
  subscription: PushSubscription
  limit: number
  /** `next` of the previous page. */
  after?: string | undefined
  /** Only those that a replay sends again, or only the others. */
  only?: 'new' | 'replayed' | undefined
  list(): Promise<Pick<SubscriptionInfo, 'queued' | 'waiting' | 'replayed' | 'more'> | undefined>
}

/**
 * The events that a push will send, in the order in which they began to wait. `waiting`: their
 * total (`least`: a lower bound). `replayed`: how many a replay sends again. `more`: whether others
 * follow. `next`: the end of the page, if one follows.
 */
export async function waitingEventsOf(
  store: Pick<Store, 'kv' | 'topics' | 'journal' | 'erasing'>,
  { subscription, limit, after, only, list }: Asked,
  caller: Caller,
): Promise<WaitingEvents> {
  const { name, topic } = subscription
  const info = await list()
  const { queued: count = 0, waiting = 0, replayed, more: least } = info ?? {}
  const report = await createRecords(store.kv, name).report()
  const newest = newestAttempts(report)
  const queued = count === 0 ? { jobs: [], isCut: false } : await jobsOf(store, queueOf(name), count)
  const held = waitsForProbe(report, waiting) ? { held: 'failing' as const } : {}
  const ofQueue = queued.jobs.map((job) => queuedEvent(job, newest, report.openUntil))
  const unread = await unreadEvents(store, subscription, newest)
  const all = [...ofQueue, ...unread.events]
    .map((event) => (event.error === undefined ? event : { ...event, ...held }))
    .map(marked)
  const isAfter = afterCursor(after)
  const wanted = all
    .filter((event) => only === undefined || (event.replayed === true) === (only === 'replayed'))
    .filter(isAfter)
    .toSorted((a, b) => a.since - b.since || (a.id < b.id ? -1 : 1))
  const shown = wanted.slice(0, limit)
  const events = topic === MESSAGE_TOPIC ? await withTexts(store, shown, caller) : shown
  const isCut = queued.isCut || unread.isCut
  const last = wanted.length > limit ? shown.at(-1) : undefined
  const next = last && `${last.since}/${last.id}`
  const counts = { waiting: Math.max(waiting, all.length), ...defined({ replayed, least }) }
  return { events, ...counts, more: isCut || wanted.length > limit, ...defined({ next }) }
}

/** Whether an event follows the end of a page, `since/id`. */
function afterCursor(after: string | undefined): (event: WaitingEvent) => boolean {
  if (after === undefined) return () => true
  const [since = '', id = ''] = after.split('/')
  const end = Number(since)
  if (id === '' || !Number.isFinite(end))
    throw new TriviumError('bad_request', { reason: '`after` is not the `next` of a page' })
  return (event) => event.since > end || (event.since === end && event.id > id)
}

/** Marks an event that a replay sends again. */
function marked(event: WaitingEvent): WaitingEvent {
  return event.since > event.publishedAt ? { ...event, replayed: true } : event
}

type Attempt = Report['attempts'][number]

/** The newest attempt at each event, if it failed. */
function newestAttempts({ attempts }: Report): Map<string, Attempt> {
  const newest = new Map<string, Attempt>()
  for (const attempt of attempts)
    if (attempt.event !== undefined && !newest.has(attempt.event)) newest.set(attempt.event, attempt)
  return new Map([...newest].filter(([, { reason, isDead }]) => reason !== undefined && !isDead))
}

function attemptFields({ attempt, reason: error }: Attempt) {
  return defined({ attempt, error })
}

const contentSchema = z.object({ errors: z.array(z.object({ message: z.string() })).default([]) })

function queuedEvent(
  { id: job, content }: { id: string; content: unknown },
  newest: ReadonlyMap<string, Attempt>,
  openUntil: number,
): WaitingEvent {
  const id = eventOfJob(job)
  const times = { id, publishedAt: timeOf(id), since: timeIn(job) ?? timeOf(id) }
  const attempt = newest.get(id)
  if (attempt) {
    const nextAt = attempt.nextAt === undefined ? undefined : Math.max(attempt.nextAt, openUntil)
    return { ...times, state: 'retrying', ...attemptFields(attempt), ...defined({ nextAt }) }
  }
  // The report may come later than the job, and has only the newest attempts.
  const errors = contentSchema.safeParse(content).data?.errors ?? []
  const last = errors.at(-1)
  if (!last) return { ...times, state: 'queued' }
  return { ...times, state: 'retrying', attempt: errors.length, error: last.message.replace(START, '') }
}

/** The beginning of the error `push_failed`. */
const START = /^Subscription \S+ could not push: /

async function unreadEvents(
  store: Pick<Store, 'topics' | 'journal'>,
  subscription: PushSubscription,
  newest: ReadonlyMap<string, Attempt>,
): Promise<{ events: WaitingEvent[]; isCut: boolean }> {
  const limit = timeLimit(SEARCH_TIME)
  const events: WaitingEvent[] = []
  for await (const page of unreadPages(store, { ...subscription, group: subscription.name }, limit)) {
    for (const { event, since } of page) {
      const attempt = newest.get(event.id)
      const tried = attempt ? attemptFields(attempt) : {}
      events.push({ id: event.id, publishedAt: timeOf(event.id), since, state: 'unread', ...tried })
    }
    if (events.length >= MAX_SEARCHED) return { events, isCut: true }
  }
  return { events, isCut: limit.isCut }
}
