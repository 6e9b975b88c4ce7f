import { TriviumError } from '../../core/errors.ts'
import { EDGE, findMoment, isoOf } from './when/moment.ts'
import { tokensOf } from './when/reader.ts'
import { mayBegin, readRepeated } from './when/repeated.ts'
import {
  attempt,
  type Found,
  hasTimeOfDay,
  lengthOfClockWords,
  notUnderstood,
  requireWhole,
} from './when/whole.ts'

/** A parsed time in the form of a schedule: `cron` or `every`. */
export type When = {
  /** A cron expression or one ISO 8601 time, in `timezone`. */
  cron?: string
  /** Only every nth day, week or month of `cron` counts: `2 weeks`. */
  step?: string
  /** Interval in ms. */
  every?: number
  timezone: string
  /** The words of the time. */
  when: string
  /** The other words: the task. */
  what: string
}

/** Linking words between a time and a task. */
const LINK = /^(?:\s*[,.:;–-])?\s*(?:(?:please|to|do|run|send me|that)\s+)?/i
/** A name of the time zone database after a time: `in Europe/Berlin`. */
const ZONE_AFTER =
  /^\s*,?\s*(?:in\s+|\()?(?<zone>UTC|GMT|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?)\)?(?:\s+time)?(?![\w/])/

/**
 * Parses the time in a sentence, without a model: "every weekday at 9 digest", "tomorrow at 10:
 * call Ada", "digest every 2 hours in Europe/Berlin". `timezone`: the default zone; `now`: Unix ms.
 * Undefined if there is no time. Throws `usage` for an impossible time, and for one that was not
 * fully understood.
 */
export async function readWhen(text: string, options: Options): Promise<When | undefined> {
  requireZone(options.timezone)
  const plain = text.replace(THANKS, '')
  if (plain === text) return readTime(text, options)
  // A `thanks` at the end belongs to the task (`at 9: say thanks`), unless the time is only
  // understood without it.
  const found = await readTime(text, options).catch(() => undefined)
  return found ?? readTime(plain, options)
}

type Options = { timezone: string; now: number }

const THANKS = /[\s,.–-]+(?:please|pls|plz|thanks|thank\s+you|thx|cheers)[\s.!]*$/i

async function readTime(text: string, { timezone, now }: Options): Promise<When | undefined> {
  const errors: unknown[] = []
  const found = findRepeated(text, errors) ?? (await findOnce(text, timezone, now))
  if (!found) {
    if (errors.length > 0) throw errors[0]
    const every = /\b(?:every|each)\b(?:\s+\S+){0,3}/i.exec(text)
    const likely = every ?? LIKELY.exec(text.slice(0, EDGE)) ?? LIKELY_AT_END.exec(text.slice(-EDGE))
    if (likely) throw notUnderstood(likely[0])
    return undefined
  }
  try {
    requireWhole(text, found)
  } catch (error) {
    // An error about the phrase is more helpful than one about the rest.
    throw errors[0] ?? error
  }
  const { start, end, plan, zone = timezone } = found
  requireZone(zone)
  const before = text.slice(0, start).trim()
  const after = text.slice(end)
  const what = before === '' ? after.replace(LINK, '').trim() : before.replace(/[\s,:;–-]+$/, '')
  const when = text.slice(start, end).trim()
  return { ...plan, timezone: zone, when, what: what.replace(/^to\s+/i, '') }
}

const DATE_WORD =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
/** Words that show that the person meant a time, although none was found. */
const TIME_LIKE = String.raw`(?:at\s+(?:a\s+)?)?(?:half|quarter)\s+(?:past|to|after)\s+\w+|at\s+\w+|(?:on\s+)?(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?${DATE_WORD}\b|(?:on\s+)?${DATE_WORD}\s+(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?|on\s+(?:the\s+)?\S*\d\S*|in\s+\w+\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b`
const LIKELY = new RegExp(`^\\s*(?:${TIME_LIKE})`, 'i')
const LIKELY_AT_END = new RegExp(`\\b(?:${TIME_LIKE})[\\s.!?]*$`, 'i')

/**
 * Finds a recurring time at the start or end; elsewhere it belongs to the task. If a time at the
 * end is impossible, adds the error to `errors`.
 */
function findRepeated(text: string, errors: unknown[]): Found | undefined {
  const begin = Math.max(0, text.length - EDGE)
  const head = tokensOf(text.slice(0, EDGE))
  const leading = mayBegin(head[0]?.word ?? '') ? readRepeated(head, 0, text) : undefined
  if (leading) {
    const { end, ...found } = leading
    const last = head[end - 1]?.end ?? 0
    const isTimed = hasTimeOfDay(text.slice(0, last))
    const clockWordsLength = isTimed ? lengthOfClockWords(text.slice(last)) : 0
    return { ...found, start: 0, end: last + clockWordsLength, isTimed, isOnce: false }
  }
  const tail = tokensOf(text.slice(begin).replace(/[\s.!?]+$/, ''))
  for (const [index, { word, start }] of tail.entries()) {
    if (!mayBegin(word) || (index === 0 && begin === 0)) continue
    const found = attempt(() => readRepeated(tail, index, text.slice(begin)), errors)
    if (found?.end !== tail.length) continue
    const { end: _, ...rest } = found
    const phrase = text.slice(begin + start)
    return { ...rest, start: begin + start, end: text.length, isTimed: hasTimeOfDay(phrase), isOnce: false }
  }
  return undefined
}

/** Finds a single time at the start or end. */
async function findOnce(text: string, timezone: string, now: number): Promise<Found | undefined> {
  const clock = { timezone, now }
  const moment = await findMoment(text, clock)
  if (!moment) return undefined
  const zone = zoneAfter(text.slice(moment.to))
  const { isTimed } = moment
  const clockWordsLength = zone || !isTimed ? 0 : lengthOfClockWords(text.slice(moment.to))
  const end = moment.to + (zone?.[0].length ?? clockWordsLength)
  const start = /^\s*on(?:\s+the)?\s*$/i.test(text.slice(0, moment.from)) ? 0 : moment.from
  // A time in the middle belongs to the task.
  if (start > 0 && /[^\s.!?]/.test(text.slice(end))) return undefined
  if (moment.isSpan) throw notUnderstood(moment.phrase, 'it is a span, not a moment')
  const named = zone?.groups?.zone
  if (named === undefined) return { start, end, plan: { cron: isoOf(moment, clock) }, isTimed, isOnce: true }
  requireZone(named)
  // `tomorrow`, `friday` and `at 9` depend on the day and time in the named zone.
  const clockThere = { timezone: named, now }
  const cron = isoOf((await findMoment(text.slice(0, moment.to), clockThere)) ?? moment, clockThere)
  return { start, end, plan: { cron }, isTimed, isOnce: true, zone: named }
}

/** The match of a zone after a time: also of a misspelt one (`in Foo/Bar`), but not of `PR/FAQ`. */
function zoneAfter(after: string): RegExpExecArray | null {
  const zone = ZONE_AFTER.exec(after)
  const name = zone?.groups?.zone ?? ''
  const isZone = /^\s*,?\s*(?:in\s|\()/.test(after) || REGION.test(name)
  return isZone || attempt(() => requireZone(name) ?? true) ? zone : null
}

const REGION =
  /^(?:UTC|GMT|(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)\/)/

/** Throws `usage` for an unknown time zone. */
function requireZone(zone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
  } catch (error) {
    const details = `There is no time zone ${zone}. Put a colon after the time if this is a part of the task.`
    throw new TriviumError('usage', { details }, { cause: error })
  }
}

/** Formats a time for people: `Tue, 24 Nov 2026, 09:00 (Europe/Berlin)`. */
export function showTime(time: number, timeZone: string): string {
  const date = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })
  return `${date.format(time)} (${timeZone})`
}
