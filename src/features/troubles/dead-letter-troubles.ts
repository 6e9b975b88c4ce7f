import type { Trouble } from '../../core/trouble.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import {
  countOf,
  nextAttemptText,
  peopleIn,
  peopleText,
  type Retrying,
  retryingTitle,
  routesText,
  timeText,
  type WholeCause,
  wholeCauses,
} from './one-cause.ts'
import type { LetterCause, StoredReadings } from './readings.ts'
import { error, info } from './trouble-parts.ts'

/** Maximum number of causes that are troubles of their own. */
const MOST_CAUSES = 5
/** Maximum number of recipients in a text. */
const MOST_NAMED = 3

/**
 * One trouble per cause of dead letters, the fastest growing first, and one for all other dead
 * letters. Each began with its first failure, not with its first dead letter. Leaves out runs of failing schedules, which are troubles of their own, and dead letters
 * of tests. `at`: Unix ms. `retrying`: messages that are tried again; those with the error of dead
 * letters belong to the same trouble.
 */
export function deadLetterTroubles(
  { stats, causes, schedules }: Pick<StoredReadings, 'stats' | 'causes' | 'schedules'>,
  at: number,
  retrying: readonly Retrying[] = [],
): Trouble[] {
  const isReported = ({ queue, group }: LetterCause) =>
    queue === 'schedules' && schedules.some(({ skill }) => skill === group)
  const counting = causes
    .map((cause) => ({ ...cause, count: cause.count - (cause.tests ?? 0) }))
    .filter((cause) => cause.count > 0 && !isReported(cause))
    .toSorted((a, b) => b.recent - a.recent || b.last - a.last)
  const failed = wholeCauses(
    counting.filter(({ code }) => code !== CANCELLED),
    retrying,
  )
  const cancelled = counting.filter(({ code }) => code === CANCELLED)
  const shown = failed.slice(0, MOST_CAUSES)
  return [
    ...shown.map((cause) => causeTrouble(cause, counting, at)),
    ...restTrouble(stats, causes, failed.slice(MOST_CAUSES)),
    ...cancelled.slice(0, MOST_CAUSES).map((cause) => cancelledTrouble(cause, counting, at)),
  ]
}

function causeTrouble(cause: WholeCause, all: readonly LetterCause[], at: number): Trouble {
  const { queue, code, pattern, groups, retrying, failingSince: since } = cause
  const [group, ...others] = groups
  // Of several routes, the error says which are meant.
  const where = { queue, ...(group !== undefined && others.length === 0 && { group }), code, pattern }
  const count = cause.count + countOf(retrying)
  const todo = `${FIXES[queue] ?? FIX}: ${commandsFor(cause, all)}`
  return error('dead-letters', where, {
    title: titleOf(cause) + retryingTitle(retrying),
    text: textOf(cause, at),
    todo,
    count,
    since,
    ...defined({ people: peopleOf(cause)?.people ?? (queue === 'outbox' ? count : undefined) }),
  })
}

/** The code of runs that an operator cancelled. */
const CANCELLED = 'run_cancelled'

/** Dead letters of cancelled runs are only an `info`, because they need no repair. */
function cancelledTrouble(cause: LetterCause, all: readonly LetterCause[], at: number): Trouble {
  const { queue, group, code, pattern, count, failingSince: since } = cause
  const title = `${counted(count, 'run')} of ${group || queue} ${count === 1 ? 'was' : 'were'} cancelled`
  const text = textOf({ ...cause, groups: [group], retrying: [] }, at).replace(/ \(message [^)]*\)/, '')
  const todo = `Retry or drop them: ${commandsFor(cause, all)}`
  return info('dead-letters', { queue, group, code, pattern }, { title, text, todo, count, since })
}

/** What to do about dead letters, if nothing proves that the cause is gone. */
export const FIX = 'Fix the cause, then retry or drop them'
const FIXES: Record<string, string> = {
  outbox: 'Tell them another way and drop it, or retry it when the address works',
}

/** The commands that list and retry the dead letters of a cause. */
function commandsFor(
  cause: LetterCause & { groups?: readonly string[] },
  all: readonly LetterCause[],
): string {
  const { queue, group, code, groups = [group] } = cause
  const route = group === '' || groups.length > 1 ? [] : ['--route', group]
  const filters = ['--queue', queue, ...route, '--code', code, ...errorFilter(cause, all)]
  const list = commandText('dead-letter list', ...filters)
  return `${list} lists them, ${commandText('dead-letter retry', '--all', ...filters)} retries them.`
}

/**
 * The filter for the error of a cause: words that no other cause with the same queue, group and code
 * has, preferably its beginning, else the whole pattern. Neither has punctuation that ends a sentence.
 */
function errorFilter(
  cause: LetterCause & { groups?: readonly string[] },
  all: readonly LetterCause[],
): string[] {
  const { queue, group, code, pattern, groups = [group] } = cause
  const rivals = all
    .filter((one) => one.queue === queue && one.code === code && (groups.length > 1 || one.group === group))
    .map((one) => one.pattern.toLowerCase())
    .filter((one) => one !== pattern.toLowerCase())
  const parts = pattern
    .replace(KNOWN_START, '')
    // Without words that need quoting, or are a number in part.
    .split(/[^\s#`'"]*[#`'"]\S*|\n|[.;:]\s|[.;:]$/)
    .map((part) => part.trim())
  const own = parts.filter((part) => part !== '' && !rivals.some((one) => one.includes(part.toLowerCase())))
  const words = own.find(isReadable) ?? own.toSorted((one, other) => other.length - one.length)[0]
  if (words !== undefined) return ['--error', words]
  return /[`\n]|[.;:](\s|$)/.test(pattern) ? [] : ['--pattern', pattern]
}

/** Whether a part of an error is several whole words, and not just the end of one. */
function isReadable(part: string): boolean {
  return /^\p{L}.*\s/u.test(part) && part.length >= 10
}

function titleOf({ queue, group, groups, count }: WholeCause): string {
  switch (queue) {
    case 'outbox':
      return `${counted(count, 'reply', 'replies')} of ${group} ${count === 1 ? 'was' : 'were'} not delivered`
    case 'receive':
      return `${counted(count, 'message')} of ${group} ${count === 1 ? 'was' : 'were'} received too often`
    case 'schedules':
      return `${counted(count, 'scheduled run')} of ${group} failed`
    default:
      if (queue.startsWith(PUSH))
        return `${counted(count, 'event')} ${count === 1 ? 'was' : 'were'} not delivered to the push ${queue.slice(PUSH.length)}`
      return `${counted(count, 'dead letter')} of ${groups.length > 1 ? routesText(groups) : group || queue}`
  }
}

const PUSH = 'push/'

function textOf(cause: WholeCause, at: number): string {
  const { queue, common, count, lastNew, retriedAt, recipients = [], retrying } = cause
  const reason = common.replace(KNOWN_START, '').replace(/[.\s]+$/, '')
  const to = queue === 'outbox' && recipients.length > 0 ? `To ${namesOf(recipients)}: ` : ''
  const start = `${to}${reason}${reason.endsWith('…') ? '' : '.'}${peopleText(peopleOf(cause), at)}`
  const next = nextAttemptText(retrying)
  const retried = retriedAt === undefined ? '' : `retried at ${timeText(retriedAt, at)} and failed again`
  if (count === 1) return `${start}${retried && ` It was ${retried}.`}${next}`
  const one = retried && ` One was ${retried}.`
  return `${start} Last failure ${timeText(lastNew, at)}.${one}${next}`
}

function peopleOf({ queue, waiting, retrying }: WholeCause) {
  return queue === 'dispatch' ? peopleIn([waiting, ...retrying.map(({ people }) => people)]) : undefined
}

/** Starts of errors that repeat the title. */
export const KNOWN_START = /^Skill \S+ failed: |^Gateway \S+ permanently rejected the message: /

function namesOf(recipients: readonly string[]): string {
  const others = recipients.length - MOST_NAMED
  const named = recipients.slice(0, MOST_NAMED).join(', ')
  return others > 0 ? `${named} and ${others} more` : named
}

/** All other dead letters: of the causes `hidden`, and those that were not read. */
function restTrouble(
  { jobs }: StoredReadings['stats'],
  causes: readonly LetterCause[],
  hidden: readonly LetterCause[],
): Trouble[] {
  const total = jobs.reduce((sum, { dead }) => sum + dead, 0)
  const read = causes.reduce((sum, { count }) => sum + count, 0)
  const unread = Math.max(0, total - read)
  const count = unread + hidden.reduce((sum, cause) => sum + cause.count, 0)
  if (count === 0) return []
  const times = [
    ...hidden.map(({ failingSince }) => failingSince),
    ...(unread > 0
      ? jobs.flatMap(({ dead, deadAt }) => (dead > 0 && deadAt !== undefined ? [deadAt] : []))
      : []),
  ]
  const since = times.length > 0 ? Math.min(...times) : undefined
  const isAll = causes.length === 0
  const others = hidden.length > 0 ? ` of ${counted(hidden.length, 'other cause')}` : ''
  const title = isAll ? counted(count, 'dead letter') : `${counted(count, 'more dead letter')}${others}`
  const text = 'They failed on every attempt, or permanently. They stay until they are retried or dropped.'
  const todo = 'Fix the causes, then retry or drop the dead letters; `trivium dead-letter groups` shows them.'
  return [error('dead-letters', {}, { title, text, todo, count, ...defined({ since }) })]
}
