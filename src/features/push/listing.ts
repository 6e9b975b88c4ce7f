import { shownAuthor } from '../../core/author.ts'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { toJson } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import type { GroupInfo, Journal, Note, Store, StoreStats, Waiting } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { answerText } from '../../lib/answer-text.ts'
import { defined } from '../../lib/defined.ts'
import { REPORTED } from './attempt-list.ts'
import { isFailing } from './circuit.ts'
import { errorShareOf, hasRecovered } from './error-share.ts'
import { pauseIn, presentControl } from './pauses.ts'
import { type Control, createRecords, queueOf, type Report } from './records.ts'
import type { ReplayedJobs } from './replayed-jobs.ts'
import type { PushSubscription } from './schema.ts'
import type { AskedBy, UnreadCount, UnreadCounts } from './unread.ts'
import { withWithdrawals } from './withdrawn-attempts.ts'

type ListDeps = {
  /** Whether routes.yaml has the subscription. */
  isInFile(name: string): boolean
  /** See `countsOf`. */
  settledCount(name: string): number
  unreadOf: UnreadCounts
  replayedJobs: ReplayedJobs
  by?: AskedBy | undefined
}

/** How often the queues and groups are read if events move between them meanwhile. */
const MOST_READS = 3

/**
 * The queues, the groups, and how many events of each subscription are in both. Whoever looks at one
 * push gets numbers of one moment, unless events move all the time.
 */
async function readTogether(
  store: Store,
  shown: readonly PushSubscription[],
  { settledCount, by }: Pick<ListDeps, 'settledCount' | 'by'>,
) {
  const count = () => shown.map(({ name }) => settledCount(name))
  for (let reads = 1; ; reads++) {
    const before = count()
    const [stats, groups, waiting] = await Promise.all([
      store.stats(),
      store.topics.groups(),
      store.oldestWaiting(),
    ])
    const settled = count()
    const isOneMoment = settled.every((each, at) => each === before[at])
    if (isOneMoment || by !== 'show' || reads === MOST_READS) return { stats, groups, waiting, settled }
  }
}

/** The state of subscriptions, with their last attempts. */
export async function listSubscriptions(
  store: Store,
  shown: readonly PushSubscription[],
  { isInFile, settledCount, unreadOf, replayedJobs, by }: ListDeps,
  now: number,
): Promise<SubscriptionInfo[]> {
  if (shown.length === 0) return []
  const { stats, groups, waiting, settled } = await readTogether(store, shown, { settledCount, by })
  return Promise.all(
    shown.map(async (subscription, at) => {
      const { name, topic, url, match } = subscription
      const records = createRecords(store.kv, name)
      const [stored, report] = await Promise.all([records.control(), records.report()])
      const control = presentControl(stored, now)
      const jobs = stats.jobs.find(({ queue }) => queue === queueOf(name))
      const group = groups.find((each) => each.topic === topic && each.group === name)
      // The query of a URL may contain a key.
      const where = { name, topic, url: url.split('?')[0] ?? '', ...defined({ match }) }
      const source = isInFile(name) ? ('routes.yaml' as const) : ('api' as const)
      const unread = await unreadOf(subscription, group, by)
      const counts = countsOf(jobs, group, { settled: settled[at] ?? 0, counted: unread })
      const replayed = Math.min(
        Math.min(unread.replayed, counts.matching) + (await replayedJobs(name, counts.queued)),
        counts.waiting,
      )
      const oldestAt = earliest(
        counts.queued > 0 ? (oldestIn(queueOf(name), waiting) ?? jobs?.oldestAt) : undefined,
        counts.matching > 0 ? unread.oldestAt : undefined,
      )
      const nextAt = counts.waiting > 0 ? await nextAttempt(store, name, control, report) : undefined
      const errors = errorsOf(report, counts.waiting > 0)
      const { failingSince, attempts } = report
      const failedAt = attempts[0]?.reason === undefined ? undefined : Number(attempts[0].at)
      const times = defined({ oldestAt, nextAt, failingSince, failedAt, errors })
      return {
        ...where,
        source,
        ...healthOf(control, report),
        ...counts,
        ...(replayed > 0 && { replayed }),
        ...(subscription.rate !== 'off' && { rate: subscription.rate }),
        ...times,
        attempts: shownAttempts(control, report, counts.waiting),
      }
    }),
  )
}

/**
 * The attempts, newest first. Only the newest one at an event says when the next one follows: not
 * before the pause of the receiver ends, and never while the subscription is stopped. `held`: a failing
 * receiver gets single events until it accepts one, and the next may be another one.
 */
function shownAttempts({ stopped }: Control, report: Report, waiting?: number): Report['attempts'] {
  const { attempts, openUntil, replays } = report
  const held = waitsForProbe(report, waiting) ? { held: 'failing' } : {}
  // An event that was tried while the receiver fails keeps its place, and has no time of its own.
  const isTriedAgain = isFailing(report) && waiting !== undefined && waiting > 0
  const events = new Set<string>()
  return withWithdrawals(attempts, replays).map(({ nextAt, ...attempt }) => {
    const { event = '' } = attempt
    const isNewest = !events.has(event)
    events.add(event)
    if (!isNewest || stopped) return attempt
    if (nextAt !== undefined) return { ...attempt, nextAt: Math.max(nextAt, openUntil), ...held }
    return isTriedAgain && isOpen(attempt) ? { ...attempt, nextAt: openUntil, ...held } : attempt
  })
}

/** Whether the newest attempt at an event failed, and another one follows. */
function isOpen({ reason, isDead, withdrawn, ...since }: Report['attempts'][number]): boolean {
  const hasArrived = since.deliveredAt !== undefined || since.arrivedAt !== undefined
  return reason !== undefined && !isDead && !withdrawn && !hasArrived
}

/**
 * Whether an event may have to wait until the receiver accepts another one: it fails, so that it gets
 * single events, and several wait. Without `waiting`, those with a failed attempt are counted.
 */
export function waitsForProbe(report: Report, waiting = 0): boolean {
  if (!isFailing(report)) return false
  const open = report.attempts.filter(({ nextAt }) => nextAt !== undefined)
  return waiting > 1 || new Set(open.map(({ event }) => event)).size > 1
}

/**
 * The number of failed attempts since the last success. The circuit does not count those that were
 * running when it opened, and the list has only the newest attempts.
 */
function failedInARow({ attempts, failures }: Report): number {
  const newest = attempts.slice(0, REPORTED)
  const success = newest.findIndex(({ reason }) => reason === undefined)
  return Math.max(failures, success === -1 ? newest.length : success)
}

/** The failed share of the newest attempts, if it is large and the receiver has not recovered. */
function errorsOf({ attempts, errorsSince: since }: Report, waits: boolean): SubscriptionInfo['errors'] {
  return since === undefined || hasRecovered(attempts, waits)
    ? undefined
    : { ...errorShareOf(attempts), since, lastAt: Number(attempts[0]?.at), reason: lastReasonOf(attempts) }
}

/** Why the newest failed attempt failed: `it answered 503: the disk is full`. */
export function lastReasonOf(attempts: Report['attempts']): string {
  const failed = attempts.find(({ reason }) => reason !== undefined)
  if (failed?.reason === undefined) return ''
  const said = answerText(failed.answer ?? '')
  return said === '' ? failed.reason : `${failed.reason}: ${said}`
}

/** The earlier one of the known times. */
function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Since when the oldest waiting job of a queue waits (Unix ms): a replay or retry starts again. */
function oldestIn(queue: string, waiting: readonly Waiting[]): number | undefined {
  const times = waiting.flatMap(({ road, oldestAt }) => (road === queue ? [oldestAt] : []))
  return times.length > 0 ? Math.min(...times) : undefined
}

/**
 * When waiting events are tried again (Unix ms); undefined if no recent attempt failed. After a
 * success, earlier events may still wait for their next attempt.
 */
export async function nextAttempt(
  { jobs }: Store,
  name: string,
  { stopped }: Control,
  { attempts, openUntil }: Report,
): Promise<number | undefined> {
  if (stopped || attempts.every(({ reason }) => reason === undefined)) return undefined
  const due = await jobs.nextDue(queueOf(name))
  if (due === undefined && attempts[0]?.reason === undefined) return undefined
  return Math.max(openUntil, due ?? 0) || undefined
}

/** The name of the history entry of an attempt to push the event of a message. */
const ATTEMPT = 'push attempt'

/** Returns the function that keeps attempts of a subscription in the histories of messages. */
export function keepWith(
  journal: Pick<Journal, 'note'>,
  subscription: string,
  failed: (error: unknown) => void,
): (event: Event, attempt: object) => void {
  return ({ id, timestamp }, attempt) => {
    const note: Note = {
      at: Number(Object(attempt).at ?? timestamp),
      road: 'push',
      what: ATTEMPT,
      detail: toJson({ subscription, ...attempt }),
    }
    journal.note(id, [note]).catch(failed)
  }
}

/**
 * The attempts to push the event of a message. The history has them all, but of older versions only
 * those that failed, and the success after them. The reports of the subscriptions have the newest
 * ones of all events, with more details.
 */
export async function attemptsOf(
  store: Store,
  subscriptions: readonly PushSubscription[],
  messageId: string,
  now: number,
) {
  const ofMessages = subscriptions.filter(({ topic }) => topic === MESSAGE_TOPIC)
  const replays = new Map<string, Report['replays']>()
  const inReport = ofMessages.map(async ({ name }) => {
    const records = createRecords(store.kv, name)
    const [stored, report] = await Promise.all([records.control(), records.report()])
    replays.set(name, report.replays)
    return shownAttempts(presentControl(stored, now), report)
      .filter(({ event }) => event === messageId)
      .map((each) => ({ subscription: name, ...each }))
  })
  const history = await store.journal.history(messageId)
  const kept = history.filter(({ road, what }) => road === 'push' && what === ATTEMPT)
  const known = kept.map(({ detail }) => Object(detail))
  const inReports = (await Promise.all(inReport)).flat()
  const others = inReports.filter((each) => !known.some((one) => isSame(one, each)))
  // What follows a failed attempt is known after it was kept: only the reports have it.
  const settled = known.map((one) => {
    const reported = inReports.find((each) => isSame(one, each))
    return { event: messageId, ...one, ...reported }
  })
  const all = [...others, ...settled].sort((a, b) => Number(a.at) - Number(b.at))
  const byPush = Map.groupBy(all, ({ subscription }) => String(subscription))
  const shown = [...byPush].flatMap(([name, each]) => withWithdrawals(each, replays.get(name) ?? []))
  return shown.sort((a, b) => Number(a.at) - Number(b.at))
}

type AttemptAt = { subscription?: unknown; at?: unknown }

function isSame(a: AttemptAt, b: AttemptAt): boolean {
  return a.subscription === b.subscription && a.at === b.at
}

function healthOf(
  control: Control,
  report: Report,
): Pick<SubscriptionInfo, 'ok' | 'state' | 'detail' | 'paused'> {
  const paused = pauseIn(control)
  if (paused) return { ok: true, state: 'paused', detail: pauseText(paused), paused }
  if (control.stopped) return { ok: false, state: 'disabled', detail: 'its receiver is gone (410)' }
  if (!isFailing(report)) return { ok: true, state: 'active' }
  return {
    ok: false,
    state: 'failing',
    detail: `${failedInARow(report)} times in a row: ${lastReasonOf(report.attempts)}`,
  }
}

/** `by ada until 2026-11-30 03:44 UTC: a migration`. */
function pauseText({ by, reason, until }: NonNullable<SubscriptionInfo['paused']>): string {
  const end = until === undefined ? '' : ` until ${timeOf(until)}`
  return `by ${shownAuthor(by)}${end}${reason === undefined ? '' : `: ${reason}`}`
}

/**
 * The unsent events of a subscription (`queued`: jobs that wait for an attempt; `unread`: not
 * examined yet, of which `matching` will be sent), and its dead letters. `settled`: the number of
 * events that were sent or are jobs, but that the group counts as unread until they are
 * acknowledged. `counted`: the unread events that match; if
 * it is absent, all of them count.
 */
export function countsOf(
  jobs: StoreStats['jobs'][number] | undefined,
  group: GroupInfo | undefined,
  { settled = 0, counted }: { settled?: number; counted?: UnreadCount } = {},
) {
  const queued = (jobs?.waiting ?? 0) + (jobs?.running ?? 0)
  const unread = Math.max(0, (group?.lag ?? 0) + (group?.pending ?? 0) - settled)
  const matching = Math.min(counted?.matching ?? unread, unread)
  const more = counted?.more === true && matching < unread
  return {
    waiting: queued + matching,
    queued,
    unread,
    matching,
    dead: jobs?.dead ?? 0,
    ...(more && { more }),
  }
}
