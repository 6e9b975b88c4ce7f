import { defined } from '../lib/defined.ts'
import { nearest } from '../lib/nearest.ts'
import { FAILED, OUTCOME_FILTERS, outcomesNamed } from '../lib/outcomes.ts'
import { timeRangeIn } from '../lib/time-range.ts'
import { ATTEMPTS_EXPECTED, type AttemptRange, attemptRange } from './attempt-range.ts'
import { OUTCOMES, type Outcome } from './message-query.ts'
import { pastRange, type RangeWords } from './past-range.ts'
import { parseTime } from './units.ts'

/**
 * A parsed search text. All conditions must hold. `words` are parts of the subject, the text, the
 * sender or the event name; `numbers` are complete numbers in these fields. Both may also be a
 * message id or an idempotency key.
 */
export type SearchWords = {
  words: string[]
  numbers?: string[]
  sender?: string
  outcome?: Outcome[]
  gateway?: string
  /** What is left out: messages with these values. */
  withoutGateways?: string[]
  withoutRoutes?: string[]
  withoutTransports?: string[]
  withoutConversations?: string[]
  withoutEvents?: string[]
  /** Parts of senders. */
  withoutSenders?: string[]
  route?: string
  transport?: string
  conversation?: string
  event?: string
  attempts?: AttemptRange
  error?: string
  since?: number
  until?: number
}

const A_TIME = 'a time (2026-11-21, 2026-11-21T10:00, "yesterday 14:00") or an age (2h)'

/** The keys before a colon, with their descriptions. */
export const SEARCH_KEYS = {
  from: 'part of the id, name or address of the sender',
  status: `its outcome: ${OUTCOMES.join(', ')}; failed: ${FAILED.join(' or ')}`,
  gateway: 'its gateway',
  route: 'the route that took it',
  transport: 'its transport',
  conversation: 'its conversation',
  event: 'the name of its event, for webhooks and Slack',
  attempts: 'how many attempts at it have ended: 2, >1, <2',
  error: 'part of the error of one of its attempts, or of its reply',
  after: `since ${A_TIME}, or in a range of hours ("yesterday 14-15")`,
  before: 'before a time',
} as const

const EXPECTED = {
  since: SEARCH_KEYS.after.replace(/^since /, ''),
  until: A_TIME,
}

/** The field of `SearchWords` that each key sets. */
const FIELDS = {
  from: 'sender',
  status: 'outcome',
  gateway: 'gateway',
  route: 'route',
  transport: 'transport',
  conversation: 'conversation',
  event: 'event',
  attempts: 'attempts',
  error: 'error',
  after: 'since',
  before: 'until',
} as const

type Key = keyof typeof SEARCH_KEYS

/** The fields of the keys that `-key:` leaves out. For `-status:`, the other outcomes are wanted. */
const LEFT_OUT = {
  from: 'withoutSenders',
  gateway: 'withoutGateways',
  route: 'withoutRoutes',
  transport: 'withoutTransports',
  conversation: 'withoutConversations',
  event: 'withoutEvents',
} as const
/** The keys that cannot be left out, and the opposite of each. */
const OPPOSITES: Partial<Record<Key, Key>> = { after: 'before', before: 'after' }

const KEYS = Object.keys(SEARCH_KEYS)
const ALIASES = new Map<string, Key>([
  ['outcome', 'status'],
  ['sender', 'from'],
  ['since', 'after'],
  ['until', 'before'],
])
const EXAMPLE = 'from:ada status:dead,retrying after:2h "out of stock"'
/** `key:value`, `-key:value` or a text; values and texts may be in quotes. */
const TERM = /(-?[a-z][a-z-]*):(?=\s|$)|(?:(-?[a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gi

/**
 * Parses `from:ada status:dead "some words"`. Throws an Error that names the invalid word and the
 * valid keys.
 */
export function parseSearch(text: string): SearchWords {
  const quotationMarks = text.replaceAll(/\\./g, '').split('"').length - 1
  if (quotationMarks % 2 === 1) throw new Error('a quotation mark is not closed')
  const found: SearchWords = { words: [] }
  const numbers: string[] = []
  const times: RangeWords = {}
  const unwanted: Outcome[] = []
  requireQuotedTimes(text)
  for (const [whole, bare, key, quoted, plain] of text.matchAll(TERM)) {
    const value = quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, '$1')
    const named = bare ?? key
    // A URL is a text in spite of its colon. So is `10:30`, which the pattern does not split.
    const isUrl = key !== undefined && plain?.startsWith('//')
    const isUnknown = named?.startsWith('-') && !isKey(nameOf(named.slice(1)))
    if (named === undefined || isUrl || isUnknown) {
      // In quotes, a number may be a part of a longer one.
      if (quoted === undefined && /^\d+$/.test(whole)) numbers.push(whole)
      else found.words.push(isUrl || isUnknown ? whole : (value ?? ''))
    } else if (named.startsWith('-'))
      leaveOut(found, unwanted, { key: keyOf(named.slice(1), whole), value, whole })
    else addCondition(found, times, { key: keyOf(named, whole), value, whole })
  }
  Object.assign(found, timesOf(times))
  if (unwanted.length > 0)
    found.outcome = (found.outcome ?? OUTCOMES).filter((outcome) => !unwanted.includes(outcome))
  found.words = found.words.filter((word) => word !== '')
  return numbers.length > 0 ? { ...found, numbers } : found
}

/** `after:` or `before:` and a word, then a time of day, a range of hours or a part of a day. */
const SPLIT_TIME =
  /(?<=^|\s)(after|since|before|until):([^\s"]+)\s+(\d{1,2}(?::\d\d){1,2}\S*|\d{1,2}[-–]\d\S*|morning|afternoon|evening)(?=\s|$)/gi

/** Throws an Error for `after:yesterday 14:00`, which would search for the text `14:00`. */
function requireQuotedTimes(text: string): void {
  const unquoted = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  for (const [whole, key, day, time] of unquoted.matchAll(SPLIT_TIME)) {
    const words = `${day} ${time}`
    if (timeRangeIn(words, { zone: 'utc' }) === undefined) continue
    throw new Error(
      `${whole}: a time with a space needs quotes: ${key}:"${words}". To search for the text ${time}, quote it: "${time}"`,
    )
  }
}

type Term = { key: Key; value: string | undefined; whole: string }

/** Adds the condition of `-gateway:shop`, or the outcomes of `-status:done`. */
function leaveOut(found: SearchWords, unwanted: Outcome[], { key, value, whole }: Term): void {
  const opposite = OPPOSITES[key]
  if (key === 'attempts')
    throw new Error(`${whole}: attempts cannot be left out; use attempts:<2 or attempts:>1`)
  if (key === 'error')
    throw new Error(`${whole}: errors cannot be left out; use -status:failed or attempts:<2`)
  if (opposite !== undefined) throw new Error(`${whole}: a time cannot be left out; use ${opposite}:`)
  if (value === undefined || value === '') throw new Error(`${whole} needs a value: ${SEARCH_KEYS[key]}`)
  if (key === 'status') unwanted.push(...outcomesOf(value))
  if (!isLeftOut(key)) return
  const field = LEFT_OUT[key]
  found[field] = [...(found[field] ?? []), value]
}

function isLeftOut(key: Key): key is keyof typeof LEFT_OUT {
  return Object.hasOwn(LEFT_OUT, key)
}

function nameOf(name: string): string {
  const lower = name.toLowerCase()
  return ALIASES.get(lower) ?? lower
}

function keyOf(name: string, whole: string): Key {
  const key = nameOf(name)
  if (isKey(key)) return key
  const near = nearest(key, KEYS)
  const skill = key === 'skill' ? '; the messages of a skill are found by their route:.' : undefined
  const suggestion = skill ?? (near === undefined ? '.' : `; did you mean ${near}:?`)
  throw new Error(
    `${name}: is not a known key${suggestion} Known keys are ${KEYS.map((each) => `${each}:`).join(' ')}, as in ${EXAMPLE}. Quote it to search for the text: ${quoted(whole)}`,
  )
}

/** A text in quotation marks, as one search word. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

function isKey(name: string): name is Key {
  return KEYS.includes(name)
}

/**
 * Sets the field of a key, or one of the times. Throws an Error for an invalid value, and for a key
 * that is already set.
 */
function addCondition(found: SearchWords, times: RangeWords, { key, value, whole }: Term): void {
  if (value === undefined || value === '') throw new Error(`${whole} needs a value: ${SEARCH_KEYS[key]}`)
  if (key === 'status') {
    if (found.outcome) throw new Error('status: is given twice; use one list: status:dead,retrying')
    found.outcome = outcomesOf(value)
    return
  }
  const field = FIELDS[key]
  if (Object.hasOwn(found, field) || Object.hasOwn(times, field)) throw new Error(`${key}: is given twice`)
  if (field === 'attempts') found.attempts = attemptsIn(value, whole)
  else if (field === 'since' || field === 'until') times[field] = timeText(value, { field, whole })
  else found[field] = value
}

function attemptsIn(value: string, whole: string): AttemptRange {
  const range = attemptRange(value)
  if (range) return range
  throw new Error(`${whole}: expected ${ATTEMPTS_EXPECTED}`)
}

/** The times of `after:` and `before:`. Throws an Error if no message can be between them. */
function timesOf(times: RangeWords): Pick<SearchWords, 'since' | 'until'> {
  const { fault, since, until } = pastRange(times)
  if (fault) throw new Error(`${fault.end === 'since' ? 'after:' : 'before:'}${fault.why}`)
  return defined({ since, until })
}

function outcomesOf(value: string): Outcome[] {
  return value.split(',').flatMap((name) => {
    const named = outcomesNamed(name.toLowerCase())
    const known = OUTCOMES.filter((outcome) => named.includes(outcome))
    if (known.length > 0) return known
    if (name === '')
      throw new Error(`status:${value} has an empty part; write a list without spaces: status:dead,retrying`)
    const near = nearest(name, OUTCOME_FILTERS)
    const suggestion = near === undefined ? '.' : `; did you mean ${near}?`
    throw new Error(`status:${name} is unknown${suggestion} Known are ${OUTCOME_FILTERS.join(', ')}`)
  })
}

function timeText(value: string, of: { field: 'since' | 'until'; whole: string }): string {
  const { field, whole } = of
  const isTime = parseTime(value) !== undefined || (field === 'since' && isRangeOfHours(value))
  if (isTime) return value
  throw new Error(`${whole}: expected ${EXPECTED[field]}`)
}

/** Whether `after:` has a range with both its ends, such as `yesterday 14-15`. */
function isRangeOfHours(value: string): boolean {
  return timeRangeIn(value, { zone: 'utc' })?.endsAt === 'time'
}
