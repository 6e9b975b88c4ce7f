import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, pathGet } from '../../core/json.ts'
import { secondOf, whenText } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { age } from '../../lib/short-text.ts'

type Facts = [title: string, text: string][]

/**
 * How many attempts of a range failed: `2 of 3 failed since …`. `last`: about the last success, which
 * follows it. A range may begin, or be, before the attempts were counted.
 */
export function attemptCount(traffic: JsonObject, { since, until }: JsonObject, last: string): string {
  const { delivered, failed, from, to, knownSince = from } = traffic
  if (Number(knownSince) >= Number(to))
    return `not counted then: they are counted since ${secondOf(knownSince)}`
  const isPartial = since !== undefined && Number(knownSince) > Number(from)
  const begin = secondOf(Math.max(Number(from), Number(knownSince)))
  const range = until === undefined ? `since ${begin}` : `from ${begin} to ${secondOf(to)}`
  const note = isPartial ? ' (not counted before)' : ''
  const all = Number(delivered) + Number(failed)
  return all === 0 ? `none ${range}${note}` : `${failed} of ${all} failed ${range}${note}${last}`
}

/**
 * `the newest 200 attempts, since …, and 100 failed ones before them, since …`; nothing if an older
 * daemon answers.
 */
export function keptFact({ kept }: JsonObject): Facts {
  const { count = 0, newest, since, failedSince } = Object(kept)
  if (count === 0) return []
  const time = `${secondOf(since)} (${age(since)})`
  if (count === newest) return [['kept', `all ${counted(count, 'attempt')} since ${time}`]]
  const failed = `${count - newest} failed ones before them, since ${secondOf(failedSince)}`
  return [['kept', `the newest ${counted(newest, 'attempt')}, since ${time}, and ${failed}`]]
}

/** What became of the event of `--event`. */
export function eventFacts({ eventState, topic, name, kept }: JsonObject, { event }: JsonObject): Facts {
  if (event === undefined) return []
  const text = WORDS[String(pathGet(eventState ?? null, 'state'))]
  const keptSince = pathGet(kept ?? null, 'since')
  const state: JsonObject = { ...Object(eventState), ...defined({ keptSince }) }
  return [
    ['event', String(event)],
    ['state', text === undefined ? '' : text({ ...state, topic: topic ?? '', name: name ?? '' })],
  ]
}

const WORDS: Readonly<Record<string, (state: JsonObject) => string>> = {
  delivered: ({ at, withdrawn, again }) =>
    `delivered ${whenText(at)}${isJsonObject(withdrawn) ? `; a later delivery was ${withdrawnText(withdrawn)}` : ''}${isJsonObject(again) ? `; ${againText(again)}` : ''}`,
  waiting: againText,
  withdrawn: withdrawnText,
  dead: ({ deadLetter }) => `dead letter: ${commandText('dead-letter show', deadLetter)}`,
  removed: () => 'its dead letter was dropped',
  retrying: ({ nextAt, held }) =>
    nextAt === undefined || held === 'failing'
      ? `failed; waits until ${held === 'failing' ? 'the receiver answers' : 'the push tries again'}`
      : `waits for its next attempt, ${whenNext(nextAt)}`,
  unread: notSentText,
  queued: notSentText,
  excluded: () => 'not sent: the filter excludes it',
  read: readText,
  unknown: ({ topic }) => `unknown: neither ${topic} nor the attempts have this event, or no longer`,
}

/** `withdrawn (replay cancelled 2026-11-30 11:41:53 UTC by ada)`. */
export function withdrawnText({ at, by }: JsonObject): string {
  return `withdrawn (replay cancelled ${secondOf(at)}${by === undefined ? '' : ` by ${shownAuthor(by)}`})`
}

/** `waits for an attempt of the replay of 2026-11-30 11:41:53 UTC (trivium job show ab12cd34)`. */
export function againText({ since, job }: JsonObject): string {
  const shown = typeof job === 'string' ? `: ${commandText('job show', job)}` : ''
  return `waits for an attempt of the replay of ${secondOf(since)}${shown}`
}

/** `not sent yet: the push fails, its next attempt is in 7 min`. */
export function notSentText({ held, nextAt }: JsonObject): string {
  const left = Number(nextAt) - Date.now()
  const next = nextAt === undefined ? '' : `, its next attempt is ${left > 0 ? `in ${ageText(left)}` : 'due'}`
  const why = held === 'failing' ? `: the push fails${next}` : (HELD[String(held)] ?? '')
  return `not sent yet${why}`
}

const HELD: Readonly<Record<string, string>> = {
  paused: ': the push is paused',
  gone: ': its receiver is gone (410)',
}

/** Failed attempts at messages are in their histories. `keptSince`: of attempts at other events. */
function readText({ mayHaveFailed, keptSince }: JsonObject): string {
  const since = keptSince === undefined ? '' : `: they are kept since ${secondOf(keptSince)}`
  const before = keptSince === undefined ? '' : ` before ${secondOf(keptSince)}`
  return mayHaveFailed === false
    ? `read by the push, and no attempt has failed: it was delivered at once${before}, unless it was skipped, or is older than the push. That attempt is no longer kept.`
    : `read by the push; its attempts are no longer kept${since}`
}

function whenNext(at: Json): string {
  const left = Number(at) - Date.now()
  return left > 0 ? `${secondOf(at)}` : 'now'
}

/** In place of attempts: that there are none, or that none is as asked for. */
export function noAttempts({ kept }: JsonObject, { event, outcome, job, since, until }: JsonObject): string {
  const count = Number(pathGet(kept ?? null, 'count') ?? 0)
  if (event !== undefined) return 'No attempt at this event is kept.'
  if (outcome === 'open' && count > 0) return 'All events of the kept attempts have arrived.'
  const isFiltered = [outcome, job, since, until].some((filter) => filter !== undefined)
  return isFiltered && count > 0
    ? `None of the ${counted(count, 'kept attempt')} matches.`
    : 'No attempts yet.'
}
