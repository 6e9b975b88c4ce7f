import { BEGINNING, isBeginning } from '../../lib/beginning.ts'
import { isStoppable } from '../../lib/cancelled-job.ts'
import { lettersInWords } from '../../lib/letters-in-words.ts'
import { openFailures } from '../../lib/open-failures.ts'
import { IN_PROGRESS, isInProgress } from '../../lib/outcomes.ts'
import { paceText } from '../../lib/pace-text.ts'
import { replayedText } from '../../lib/replayed-text.ts'
import { isSearchingAgain, withdrawnText } from '../../lib/unfinished-job.ts'
import { patternInWords } from './cause.js'
import { clock } from './live.js'
import { dateTime, elapsed, span, took } from './parts.js'
import { count } from './troubles.js'

/** Kinds of badges, by the state of the job. */
export const JOB_BADGES = { running: 'busy', done: 'good', failed: 'bad', cancelled: 'dim' }

/**
 * Whether a job has queued everything, but its events (of a replay) or messages (of a retry) are
 * still in progress.
 */
export function isDelivering({ state, outcomes }) {
  return state === 'done' && isInProgress(outcomes)
}

/** Whether a job runs, or something that it queued is in progress. */
export function isBusy(job) {
  return job.state === 'running' || isDelivering(job)
}

/** Whether a job can be cancelled: it runs, or what it queued is in progress. */
export function canCancel(job) {
  const { kind, state, outcomes, withdrawing } = job
  if (state === 'running') return true
  if (withdrawing) return false
  return kind === 'replay' ? isInProgress(outcomes) : isStoppable(job)
}

/** The badge of a job: `{ kind, text }`. Its outcomes have the numbers. */
export function badgeOf(job) {
  const { kind, state, withdrawing } = job
  if (withdrawing) return { kind: 'busy', text: 'cancelling' }
  if (isDelivering(job)) return { kind: 'busy', text: kind === 'replay' ? 'delivering' : 'retrying' }
  if (state !== 'done' || openFailures(job) === 0) return { kind: JOB_BADGES[state], text: state }
  return { kind: 'warn', text: 'with failures' }
}

/**
 * How far a job in progress is, `{ value, max }`: with its own work, or with what it queued. None while
 * that waits.
 */
export function barOf(job) {
  const { state, done, total, outcomes = {}, waitsFor = [] } = job
  if (state === 'running') return { value: done, max: Math.max(1, total) }
  if (!isDelivering(job) || waitsFor.length > 0) return undefined
  const { leased = 0, ...others } = outcomes
  const open = IN_PROGRESS.reduce((sum, each) => sum + (others[each] ?? 0), 0)
  const max = Object.values(others).reduce((sum, many) => sum + many, 0)
  return { value: max - open, max }
}

/** `7.7 a second, about 2 min left` of a replay that its push delivers; empty if it is not known. */
export function paceOf({ speed, rate, outcomes = {} }) {
  return speed === undefined ? '' : paceText(speed, outcomes.waiting, rate)
}

/** `next attempt in 3 s`. */
export function nextIn(at) {
  return `next attempt ${at > clock.value ? `in ${span(at - clock.value)}` : 'now'}`
}

/** How long a job took with all that it queued, or has taken so far. */
export function tookOf(job) {
  const { kind, target, state, startedAt, endedAt, settledAt, cancelled } = job
  if (cancelled) return `after ${took(Math.max(0, cancelled.at - startedAt))}`
  if (isDelivering(job)) return `running for ${elapsed(Math.max(0, clock.value - startedAt))}`
  if (settledAt !== undefined)
    return `${kind === 'replay' ? 'all delivered after' : 'took'} ${took(Math.max(0, settledAt - startedAt))}`
  const isQueued = kind === 'replay' || target.do === 'retry'
  return `${isQueued && state === 'done' ? 'queued in' : 'took'} ${took(Math.max(0, endedAt - startedAt))}`
}

/** Labels of the kinds of jobs. */
export const KIND_NAMES = {
  replay: 'replay',
  'dead-letters': 'dead letters',
  'person-erase': 'erase a person',
}

/** What a job counts in `done` and `total`. */
const UNITS = { replay: 'event', 'dead-letters': 'dead letter', 'person-erase': 'place' }

/** Whether the result of a job has its numbers: an erasure has the number of records. */
export function isInResult({ state, kind, result, done, total }) {
  if (kind !== 'person-erase' && result?.withdrawn !== undefined) return done === total
  return state === 'done' && kind !== 'person-erase' && result !== undefined
}

/** `3 of 19 places`. An erasure searches all of them again, for what was written meanwhile. */
export function progressOf({ kind, state, done, total }) {
  if (isSearchingAgain({ kind, state, done, total })) return `all ${count(total, 'place')} searched once`
  const whole = UNITS[kind] ? count(total, UNITS[kind]) : total.toLocaleString('en')
  return `${done.toLocaleString('en')} of ${whole}`
}

/** A description of a job in one line. The times of dead letters are on its page. */
export function aboutJob({ kind, target }) {
  const { topic, group, subscription } = target
  if (kind === 'replay') {
    const receiver = subscription ? `push ${subscription}` : `group ${group}`
    const events = target.withdrawn === undefined ? rangeOf(target) : 'withdrawn events'
    return `Replay ${topic} to ${receiver}, ${events || 'all retained events'}`
  }
  if (kind === 'dead-letters') {
    const why = target.pattern ?? target.error ?? target.code
    const verb = target.do === 'retry' ? 'Retry' : 'Drop'
    return `${verb} ${lettersInWords(target)}${why ? `: ${errorInWords(why)}` : ''}`
  }
  if (kind === 'person-erase')
    return [
      target.messages ? `Erase ${count(target.messages, 'message')}` : 'Erase a person',
      target.reference && `for ${target.reference}`,
    ]
      .filter(Boolean)
      .join(' ')
  return `${kind} ${Object.values(target).join(' ')}`
}

/** Maximum characters of an error in a title. */
const SHORT_ERROR = 90

function errorInWords(pattern) {
  const words = patternInWords(pattern)
  return words.length > SHORT_ERROR ? `${words.slice(0, SHORT_ERROR)}…` : words
}

function rangeOf({ since, until, from, to }) {
  const parts = [
    (since ?? from) && `from ${shownTime(since ?? from)}`,
    (until ?? to) && `to ${shownTime(until ?? to)}`,
  ]
  return parts.filter(Boolean).join(' ')
}

/** An ISO 8601 time in the zone of this browser. Returns other texts, such as ids, unchanged. */
export function shownTime(text) {
  if (isBeginning(text)) return BEGINNING
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? dateTime(new Date(text).getTime()) : String(text)
}

/** What an ended job did, in words. */
export function resultOf({ kind, result, target }) {
  const replayed = kind === 'replay' && replayedText(result, { isPush: target.subscription !== undefined })
  if (replayed) return replayed
  if (result.records !== undefined)
    return [
      `${count(result.records, 'record')} ${result.records === 1 ? 'was' : 'were'} erased`,
      ...[withdrawnText(result) ?? []].flat(),
      ...laterOf(result),
    ].join('; ')
  if (result.count !== undefined)
    return `${count(result.count, 'dead letter')} ${result.count === 1 ? 'was' : 'were'} ${target.do === 'retry' ? 'retried' : 'dropped'}`
  return JSON.stringify(result).slice(0, 200)
}

/** The data directories that are not erased yet, because their daemons did not run. */
function laterOf({ later = [] }) {
  return later.map(({ host }) => `the data directory on ${host} is erased when its daemon runs again`)
}

/** What is left to do after an erasure, one sentence each. Backticks mark code. */
export function leftOf({ later = [], needsCompact, beforeRestore = [] }) {
  return [
    ...later.map(({ host }) => `The data directory on ${host} is erased when its daemon runs again.`),
    needsCompact &&
      'The file of the store was not rewritten, and may still contain old copies of erased rows. Stop the daemon and run `trivium compact`.',
    ...beforeRestore.map(
      (folder) =>
        `The content before a restore was neither searched nor erased. If you do not need it, delete \`${folder}\` in the data directory.`,
    ),
  ].filter(Boolean)
}
