import { shownAuthor } from '../../core/author.ts'
import type { StoreStats } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import type { LastRead } from '../../engine/group-last-reads.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { patternOf } from '../../lib/error-pattern.ts'
import { noReaderText } from '../../lib/no-reader.ts'
import { deadLetterTroubles, KNOWN_START } from './dead-letter-troubles.ts'
import { longAttemptTrouble } from './long-attempt-trouble.ts'
import { peopleIn, peopleText, type Retrying } from './one-cause.ts'
import { pullTroubles } from './pull-troubles.ts'
import type { LastFailure, PauseReading, StoredReadings, TroubleReadings } from './readings.ts'
import { stalledTrouble } from './stalled-groups.ts'
import { subscriptionTroubles } from './subscription-troubles.ts'
import { dayAndTime, error, firstLine, timeOfDay, warning } from './trouble-parts.ts'
import { unroutedTroubles } from './unrouted-troubles.ts'

/** How long (ms) a message or reply may wait before it is a trouble. */
export const LONG_WAIT = 5 * MINUTE
/** A group with this many unread events probably has no consumer. */
export const FAR_BEHIND = 1_000

/** Messages that are waiting, dead or lost on a road. */
export function roadTroubles(
  stored: StoredReadings,
  readings: Pick<TroubleReadings, 'pauses' | 'running' | 'storePausedSince' | 'unrouted'>,
  at: number,
): Trouble[] {
  const { stats, subscriptions, waiting, groups } = stored
  // While everything is paused, that is the only reason why messages, replies and pushes wait.
  const isPaused = readings.storePausedSince !== undefined
  const long = waiting.filter(({ oldestAt }) => !isPaused && at - oldestAt > LONG_WAIT)
  const dead = deadLetterTroubles(
    stored,
    at,
    long.filter((one) => one.state === 'retrying'),
  )
  const isShown = patternsIn(dead)
  return [
    ...readings.running.flatMap((each) => longAttemptTrouble(each, at)),
    ...subscriptions.flatMap((each) => subscriptionTroubles(each, at)),
    ...dead,
    ...lostTroubles(stats),
    ...long.filter((one) => !isShown(one)).flatMap((one) => waitingTrouble(one, { ...readings, at })),
    ...groups.flatMap((group) => groupTroubles(group, subscriptions, isPaused, at)),
    ...unroutedTroubles(readings.unrouted, stored, at),
    ...pullTroubles(stored.pulls, at),
  ]
}

/** Whether messages that are tried again are part of a trouble of dead letters. */
function patternsIn(dead: readonly Trouble[]) {
  const ofDispatch = dead.filter(({ severity, where }) => severity === 'error' && where.queue === 'dispatch')
  const patterns = new Set(ofDispatch.map(({ where }) => where.pattern))
  return ({ road, state, failure }: StoredReadings['waiting'][number]) =>
    road === 'dispatch' &&
    state === 'retrying' &&
    failure !== undefined &&
    patterns.has(patternOf(failure.error))
}

function lostTroubles({ receive }: StoreStats): Trouble[] {
  return Object.entries(receive.lost)
    .filter(([, count]) => count > 0)
    .map(([gateway, count]) =>
      error(
        'messages-lost',
        { gateway },
        {
          title: `${counted(count, 'message')} of ${gateway} expired unread`,
          text: 'Retention removed them before they were received.',
          todo: 'Start a consumer, or keep messages longer (`daemon.retention`).',
          count,
        },
      ),
    )
}

/** By road: `waits` says what has not happened to waiting messages, `todo` what to do. */
const WORK: Record<string, { waits: string; todo: string }> = {
  dispatch: {
    waits: 'not been handled',
    todo: 'The cause may be a slow skill, a conversation blocked by retries, or too few daemons: `trivium status` shows the roads.',
  },
  outbox: {
    waits: 'not been sent',
    todo: 'Check the provider; `trivium message show ID` has the error of each attempt.',
  },
}

function waitingTrouble(
  one: StoredReadings['waiting'][number],
  { pauses, at }: { pauses: readonly PauseReading[]; at: number },
): Trouble[] {
  const work = WORK[one.road]
  // Pauses are troubles of their own.
  if (!work || one.state === 'held') return []
  const { road, gateway, oldestAt: since } = one
  const where = { gateway, road }
  const from = gateway === '' ? 'a gateway' : gateway
  if (one.state !== 'retrying') {
    const title = `${road === 'outbox' ? 'Replies' : 'Messages'} of ${from} wait`
    const paused = road === 'dispatch' ? pausedFor(gateway, pauses) : ''
    const text = `The oldest one has ${work.waits}.${paused === '' ? '' : ` It may wait because of a pause: ${paused}.`}`
    const todo = paused === '' ? work.todo : `Resume what is paused. ${work.todo}`
    return [warning('backlog', where, { title, text, todo, since })]
  }
  return [retryTrouble(one, at)]
}

/** Work that is tried again, for one cause if it is known. */
function retryTrouble(one: Retrying, at: number): Trouble {
  const { road, gateway, oldestAt: since, count, nextAt, failure } = one
  const items = road === 'outbox' ? counted(count, 'reply', 'replies') : counted(count, 'message')
  const of = failure?.route === undefined ? gateway || 'a gateway' : `route ${failure.route}`
  const title = `${items} of ${of} ${count === 1 ? 'is' : 'are'} tried again`
  const waits = road === 'dispatch' ? peopleIn([one.people]) : undefined
  const text = `${failureText(failure)}${peopleText(waits, at)} The next attempt is at ${timeOfDay(nextAt)}.`
  const todo = `\`trivium message show ${failure?.messageId ?? 'ID'}\` has the error of each attempt.`
  const cause = failure && { ...defined({ group: failure.route }), pattern: patternOf(failure.error) }
  return warning(
    'retrying',
    { gateway, road, ...cause },
    {
      ...{ title, text, todo, count, since },
      ...defined({ people: waits?.people }),
    },
  )
}

/** The error of the last attempt. */
function failureText(failure: LastFailure | undefined): string {
  if (failure === undefined) return 'An attempt failed.'
  const reason = firstLine(failure.error)
    .replace(KNOWN_START, '')
    .replace(/[.\s]+$/, '')
  return `${reason}.`
}

/**
 * The pauses for which messages of a gateway may wait, such as `route newsletter`. The routes of
 * waiting messages are not known here, so this names all paused routes and skills.
 */
function pausedFor(gateway: string, pauses: readonly PauseReading[]): string {
  return pauses
    .filter(({ kind, name }) => kind !== 'conversation' && (kind !== 'gateway' || name === gateway))
    .map(({ kind, name }) => `${kind} ${name}`)
    .join(', ')
}

/** Whether a group has no reader, and since when. A read is stored at most once in a minute. */
function readText(topic: string, last: LastRead | undefined, at: number): string {
  if (last === undefined) return `Its consumer does not read ${topic} fast enough, or not at all.`
  if (at - last.at < LONG_WAIT) return `Its consumer does not read ${topic} fast enough.`
  return noReaderText({ since: dayAndTime(last.at), by: shownAuthor(last.by) })
}

/** A group that nobody reads any more, or that is far behind. */
function groupTroubles(
  group: StoredReadings['groups'][number],
  subscriptions: readonly SubscriptionInfo[],
  isPaused: boolean,
  at: number,
): Trouble[] {
  const stalled = stalledTrouble(group, at)
  if (stalled) return [stalled]
  return group.behind < FAR_BEHIND ? [] : lagTrouble(group, subscriptions, isPaused, at)
}

/** A group that is far behind. A push that fails or is paused has a trouble of its own. */
function lagTrouble(
  { topic, group, behind: count, oldestAt, lastRead }: StoredReadings['groups'][number],
  subscriptions: readonly SubscriptionInfo[],
  isPaused: boolean,
  at: number,
): Trouble[] {
  const push = subscriptions.find((each) => each.topic === topic && each.name === group)
  if (push && (isPaused || push.state !== 'active')) return []
  const since = push ? push.oldestAt : oldestAt
  const behind = `is ${count.toLocaleString('en')} events behind`
  const text = push
    ? {
        title: `Push ${group} ${behind}`,
        text: `Its receiver does not accept events of ${topic} fast enough.`,
        todo: 'Speed up its receiver, or raise its `concurrency`; retention removes unread events.',
      }
    : {
        title: `Group ${group} ${behind}`,
        text: readText(topic, lastRead, at),
        todo: 'Start its consumer or add one; retention removes unread events.',
      }
  return [warning('group-lag', { topic, group }, { ...text, count, ...defined({ since }) })]
}
