import { inspect } from 'node:util'
import { compileHours } from '../core/hours.ts'
import { isJsonObject, pathGet } from '../core/json.ts'
import { type MatchKeys, partsOfMatch, type RouteMatch } from '../core/match.ts'
import { isAutomatic, type Message } from '../core/message.ts'
import { compilePattern, compilePrefix, needsRe2 } from '../core/pattern.ts'
import { defined } from '../lib/defined.ts'

/** The parts of a message that a `match` reads. */
export type Matched = Pick<
  Message,
  'gateway' | 'transport' | 'from' | 'to' | 'subject' | 'text' | 'data' | 'receivedAt'
>

/** A compiled part of a `match`. */
export type Condition = {
  test(message: Matched): boolean
  /** For people: each key, whether it matches, and the message's value. */
  explain(message: Matched): Explained[]
  /** Conditions are tested in ascending cost. */
  cost: number
  /** Whether the result is the same for all messages of a gateway. */
  isOfPlace: boolean
}

/** `reason` explains a result that is not obvious from the other fields. */
export type Explained = { key: string; matched: boolean; wanted: string; actual: string; reason?: string }

/** A compiled key of a `match`. */
type KeyCondition = Condition & {
  key: string
  /** The configured value. */
  wanted: readonly string[] | boolean
  /** The message's value for the key: a scalar, a list of scalars, or undefined. */
  read(message: Matched): unknown
}

/**
 * Compiles a `match` in the order of its keys. Notices match only if a key asks for them. Throws
 * for an invalid pattern.
 */
export function compileMatch(match: RouteMatch): Condition[] {
  const { keys, not } = partsOfMatch(match)
  const written = Object.entries(keys).map(compileKey)
  const excluded = not.map((inner, at) => compileExclusion(inner, not.length > 1 ? `not[${at}]` : 'not'))
  const asksForNotices = Object.keys(keys).some((key) => ASKS_FOR_NOTICES.has(key))
  return [...written, ...excluded, ...(asksForNotices ? [] : [NO_NOTICE])]
}

/**
 * Makes a test of messages against a `match`, cheapest conditions first. Throws for an invalid
 * pattern.
 */
export function compileMatcher(match: RouteMatch): (message: Matched) => boolean {
  const conditions = compileMatch(match).sort((a, b) => a.cost - b.cost)
  return (message) => fitsAll(conditions, message)
}

export function fitsAll(conditions: readonly Condition[], message: Matched): boolean {
  for (const condition of conditions) if (!condition.test(message)) return false
  return true
}

function compileKey([key, wanted]: [string, MatchKeys[string]]): KeyCondition {
  if (key === 'hours' && typeof wanted !== 'boolean') return compileHoursKey(wanted)
  const read = reader(key)
  const fits = typeof wanted === 'boolean' ? undefined : valueTest(textTest(key, wanted))
  const test = fits
    ? (message: Matched) => fits(read(message))
    : (message: Matched) => (read(message) === true) === wanted
  const explain = (message: Matched) => [
    { key, matched: test(message), wanted: show(wanted), actual: show(read(message)) },
  ]
  const isOfPlace = key === 'gateway' || key === 'transport'
  return { key, wanted, read, test, explain, cost: costOf(key, wanted), isOfPlace }
}

/** The arrival time, in the time zone of `hours`. */
function compileHoursKey(wanted: readonly string[]): KeyCondition {
  const compiled = wanted.map(compileHours)
  const test = ({ receivedAt }: Matched) => compiled.some((hours) => hours.fits(receivedAt))
  const clocks = ({ receivedAt }: Matched) => new Set(compiled.map((hours) => hours.clock(receivedAt)))
  const read = (message: Matched) => [...clocks(message)].join(', ')
  const explain = (message: Matched) => {
    const matched = test(message)
    const reason = matched ? undefined : `outside of hours ${wanted.join(' or ')}`
    return [
      { key: 'hours', matched, wanted: show(wanted), actual: show(read(message)), ...defined({ reason }) },
    ]
  }
  return { key: 'hours', wanted, read, test, explain, cost: COST.hours, isOfPlace: false }
}

/** Matches all messages, also notices, except those that match all keys of `inner`. */
function compileExclusion(inner: MatchKeys, place: string): Condition {
  const written = Object.entries(inner).map(compileKey)
  const conditions = written.toSorted((a, b) => a.cost - b.cost)
  const test = (message: Matched) => !fitsAll(conditions, message)
  return {
    test,
    explain(message) {
      const matched = test(message)
      return written.map(({ key: name, wanted, read }) => {
        const key = `${place}.${name}`
        const shown = { key, matched, wanted: `not ${show(wanted)}`, actual: show(read(message)) }
        return matched ? shown : { ...shown, reason: `excluded by ${key}` }
      })
    },
    cost: Math.max(...written.map(({ cost }) => cost)),
    isOfPlace: written.every(({ isOfPlace }) => isOfPlace),
  }
}

function costOf(key: string, wanted: readonly string[] | boolean): number {
  if (typeof wanted === 'boolean') return COST.flag
  if (wanted.some(needsRe2)) return COST.re2
  if (key === 'text') return COST.wholeText
  return key === 'prefix' ? COST.prefix : COST.field
}

const COST = { flag: 0, field: 1, prefix: 2, hours: 3, wholeText: 4, re2: 5 }

/** Keys that describe an event: a `match` that has one of them also matches notices. */
const ASKS_FOR_NOTICES = new Set(['event', 'reaction', 'data.event', 'data.reaction', 'data.notice'])

/**
 * Nobody expects an answer to a notice (`data.notice: true`: an edit, a reaction), so routes must
 * ask for them.
 */
const NO_NOTICE: Condition = {
  test: ({ data }) => data.notice !== true,
  // The route does not mention this condition, so it is shown only if it excludes the message.
  explain: ({ data }) =>
    data.notice === true
      ? [{ key: 'data.notice', matched: false, wanted: show(false), actual: show(data.notice) }]
      : [],
  cost: COST.flag,
  isOfPlace: false,
}

const FIELDS = new Map<string, (message: Matched) => unknown>([
  ['gateway', (message) => message.gateway],
  ['transport', (message) => message.transport],
  ['from', ({ from }) => [from.id, from.address, from.name]],
  ['verified', ({ from }) => from.verified],
  ['automatic', isAutomatic],
  ['to', (message) => message.to],
  ['subject', (message) => message.subject],
  // The transcript of a recording counts as text, also if the text (JSON) does not contain it.
  ['text', ({ text, data }) => (data.transcript === undefined ? text : [text, data.transcript])],
  ['prefix', (message) => message.text],
  ['thread', ({ data }) => [data.thread, data.mine === true ? 'mine' : undefined]],
])

function reader(key: string): (message: Matched) => unknown {
  if (key.startsWith('header.')) return headerReader(key.slice('header.'.length))
  if (key.startsWith('data.')) {
    const steps = key.slice('data.'.length).split('.')
    return (message) => pathGet(message.data, steps)
  }
  return FIELDS.get(key) ?? (({ data }) => (Object.hasOwn(data, key) ? data[key] : undefined))
}

/** Header names may be in any case, with one value or several. */
function headerReader(name: string): (message: Matched) => unknown {
  const folded = name.toLowerCase()
  return ({ data: { headers } }) => {
    if (!isJsonObject(headers)) return undefined
    if (Object.hasOwn(headers, folded)) return headers[folded]
    const spelled = Object.keys(headers).find((key) => key.toLowerCase() === folded)
    return spelled === undefined ? undefined : headers[spelled]
  }
}

function textTest(key: string, wanted: readonly string[]): (text: string) => boolean {
  const patterns = key === 'prefix' ? [compilePrefix(...wanted)] : wanted.map(compilePattern)
  const [only, ...others] = patterns
  return only && others.length === 0
    ? (text) => only.test(text)
    : (text) => patterns.some((each) => each.test(text))
}

/** A list matches if one of its values does. An absent value matches nothing, not even `*`. */
function valueTest(test: (text: string) => boolean): (value: unknown) => boolean {
  const scalar = (value: unknown) => {
    if (typeof value === 'string') return test(value)
    return (typeof value === 'number' || typeof value === 'boolean') && test(String(value))
  }
  return (value) => (Array.isArray(value) ? value.some(scalar) : scalar(value))
}

const SHOWN = { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 80, maxArrayLength: 20 }

/**
 * Shows a value on one line, one level deep: deeper values never match, and may be nested without
 * limit.
 */
function show(value: unknown): string {
  const shown = Array.isArray(value) ? value.filter((each) => each !== undefined) : value
  if (shown === undefined || (Array.isArray(shown) && shown.length === 0)) return 'absent'
  const [only, ...others] = Array.isArray(shown) ? shown : [shown]
  return inspect(others.length === 0 ? only : shown, SHOWN).slice(0, 200)
}
