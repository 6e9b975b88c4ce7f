import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'
import { EXAMPLES } from './when/clock.ts'
import { EDGE, findMoment, isoOf } from './when/moment.ts'
import type { Repetition } from './when/plan.ts'
import { tokensOf } from './when/reader.ts'
import { mayBegin, readRepeated } from './when/repeated.ts'

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
const LINK = /^(?:\s*[,:;–-])?\s*(?:(?:please|to|do|run|send me|that)\s+)?/i
/** A name of the time zone database after a time: `in Europe/Berlin`. */
const ZONE_AFTER =
  /^\s*,?\s*(?:in\s+|\()?(?<zone>UTC|GMT|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?)\)?(?:\s+time)?(?![\w/])/

/**
 * Parses the time in a sentence, without a model: "every weekday at 9 digest", "tomorrow at 10: call
 * Ada", "digest every 2 hours in Europe/Berlin". `timezone`: the default zone; `now`: Unix ms.
 * Undefined if there is no time. Throws `usage` for an impossible time, and for one that was not fully
 * understood.
 */
export async function readWhen(
  text: string,
  { timezone, now }: { timezone: string; now: number },
): Promise<When | undefined> {
  requireZone(timezone)
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
  const [before, after] = [text.slice(0, start).trim(), text.slice(end)]
  const what = before === '' ? after.replace(LINK, '').trim() : before.replace(/[\s,:;–-]+$/, '')
  const when = text.slice(start, end).trim()
  return { ...plan, timezone: zone, when, what: what.replace(/^to\s+/i, '') }
}

const DATE_WORD =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
/** Words that look like a time. If no time was found, they show that one was meant. */
const TIME_LIKE = String.raw`(?:at\s+(?:a\s+)?)?(?:half|quarter)\s+(?:past|to|after)\s+\w+|at\s+\w+|(?:on\s+)?(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?${DATE_WORD}\b|(?:on\s+)?${DATE_WORD}\s+(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?|on\s+(?:the\s+)?\S*\d\S*|in\s+\w+\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b`
const LIKELY = new RegExp(`^\\s*(?:${TIME_LIKE})`, 'i')
const LIKELY_AT_END = new RegExp(`\\b(?:${TIME_LIKE})[\\s.!?]*$`, 'i')

/** A time found in the text. `isTimed`: includes a time of day. */
type Found = {
  start: number
  end: number
  plan: Repetition
  zone?: string
  isTimed: boolean
  isOnce: boolean
}

/**
 * Finds a recurring time at the start or end; elsewhere it belongs to the task. Adds to `errors` those
 * of phrases at the end that are no possible time.
 */
function findRepeated(text: string, errors: unknown[]): Found | undefined {
  const begin = Math.max(0, text.length - EDGE)
  const head = tokensOf(text.slice(0, EDGE))
  const leading = mayBegin(head[0]?.word ?? '') ? readRepeated(head, 0, text) : undefined
  if (leading) {
    const { end, ...found } = leading
    const last = head[end - 1]?.end ?? 0
    return { ...found, start: 0, end: last, isTimed: hasTimeOfDay(text.slice(0, last)), isOnce: false }
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

/** The result of `read`. If it throws, adds the error to `errors`. */
function attempt<T>(read: () => T, errors: unknown[] = []): T | undefined {
  try {
    return read()
  } catch (error) {
    errors.push(error)
    return undefined
  }
}

/** Finds a single time at the start or end. */
async function findOnce(text: string, timezone: string, now: number): Promise<Found | undefined> {
  const moment = await findMoment(text, { timezone, now })
  if (!moment) return undefined
  const zone = ZONE_AFTER.exec(text.slice(moment.end))
  const end = moment.end + (zone?.[0].length ?? 0)
  const start = /^\s*on(?:\s+the)?\s*$/i.test(text.slice(0, moment.at)) ? 0 : moment.at
  // A time in the middle belongs to the task.
  if (start > 0 && /[^\s.!?]/.test(text.slice(end))) return undefined
  if (moment.isSpan) throw notUnderstood(moment.phrase, 'it is a span, not a moment')
  const plan = { cron: isoOf(moment, { timezone: zone?.groups?.zone ?? timezone, now }) }
  const { isTimed } = moment
  return { start, end, plan, isTimed, isOnce: true, ...defined({ zone: zone?.groups?.zone }) }
}

const TIME_OF_DAY =
  /\bat\s+(?:\d|noon|midnight|half|quarter)|\d\s*[ap]\.?m\b|\d[:.]\d\d|\b(?:noon|midnight)\b/i
const hasTimeOfDay = (phrase: string) => TIME_OF_DAY.test(phrase)

// The words that `requireWhole` looks for beside a time.
const UNIT = '(?:minute|hour|day|week|month|year|fortnight|quarter|weekday|weekend)s?'
const DAY_OR_MONTH = `(?:(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?s?|(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec)|mornings?|noon|afternoons?|evenings?|nights?|midnight|tonight|today|tomorrow)`
const RECURRING =
  '(?:every|each|once|twice|thrice|hourly|daily|nightly|weekly|biweekly|fortnightly|monthly|bimonthly|quarterly|yearly|annually|bi|semi|alternate|other)'
/** Words after a time that belong to it. */
const BELONGS_AFTER = new RegExp(
  String.raw`^\s*,?\s*(?:(?:until|till|til|except|excluding|but|for|from|also|plus|then|last|next|first|second|third|starting|starts|beginning|begins|ending|ends|through|thru|after|past|before|and|or|not|unless|if|when|whenever|while|during|between|times?|at|of|am|pm|ago|within|per|o'clock|est|edt|cst|cdt|mst|mdt|pst|pdt|cet|cest|bst|gmt|utc|ist|jst|${UNIT}|${DAY_OR_MONTH}|${RECURRING})(?![\w-])|(?:on|in)\s+(?:the\s+)?(?:\d|first|last|second|third|${UNIT}|${DAY_OR_MONTH})|the\s+(?:\d|first|last|second|third)|[\d/+&]|-\s*\d)`,
  'i',
)
/** Words before a time that belong to it. */
const BELONGS_BEFORE = new RegExp(
  String.raw`(?:^|[\s-])(?:until|till|til|except|excluding|but|for|from|starting|beginning|ending|through|thru|after|before|by|since|and|or|not|unless|about|around|of|to|than|the|a|an|next|last|first|second|third|during|between|times|per|within|bi|semi|\d+(?:st|nd|rd|th)?|${UNIT}|${DAY_OR_MONTH}|${RECURRING})[\s-]*$`,
  'i',
)
const BEGINS_WITH_TIME_OF_DAY =
  /^\s*(?:at\s+(?:\d|noon|midnight|half|quarter)|noon|midnight|\d{1,2}(?::\d\d|\s*[ap]\.?m\b))/i
const ONLY_TIME_OF_DAY = /^(?:at\s+)?(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)$/i
const TIME_OF_DAY_AT_END = /\bat\s+(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)[\s.!?]*$/i
const DAY_AT_END = /\b(?:today|tomorrow|tonight|(?:on\s+|next\s+|this\s+)?\w+day)[\s.!?]*$/i
const BEGINS_RECURRING = new RegExp(`^\\s*${RECURRING}\\b`, 'i')

/**
 * Throws `usage` if something of the time was not understood and would become part of the task: words
 * beside the time, or more of the time at the other end of the text.
 */
function requireWhole(text: string, { start, end, isTimed, isOnce }: Found): void {
  const [before, after] = [text.slice(0, start), text.slice(end)]
  const phrase = text.slice(start, end).trim()
  if (start > 0) {
    // Punctuation separates the task from the time.
    if (/[,:;–]\s*$/.test(before)) return
    if (BELONGS_BEFORE.test(before)) throw notUnderstood(`${/\S+\s*$/.exec(before)?.[0] ?? ''}${phrase}`)
    if (BEGINS_RECURRING.test(before)) throw notUnderstood(before.trim().split(/\s+/).slice(0, 3).join(' '))
    if (!isTimed && BEGINS_WITH_TIME_OF_DAY.test(before))
      throw notUnderstood(`${before.trim().split(/\s+/, 2).join(' ')} … ${phrase}`)
    const every = isOnce ? /\b(?:every|each)\s+\S.*$/is.exec(before) : null
    if (every) throw notUnderstood(`${every[0].trim()} ${phrase}`)
    return
  }
  if (/^\s*[:;]/.test(after)) return
  requireNoZone(phrase, after, isTimed)
  const next = /^\s*,?\s*\S+(?:\s+\S+)?/.exec(after)?.[0] ?? ''
  if (BELONGS_AFTER.test(after)) throw notUnderstood(`${phrase}${next}`)
  const rest = tokensOf(after.slice(-EDGE))
  const clock = isTimed ? null : TIME_OF_DAY_AT_END.exec(after)
  const day = ONLY_TIME_OF_DAY.test(phrase) ? DAY_AT_END.exec(after) : null
  const other = clock?.[0] ?? day?.[0] ?? repeatedAtEnd(rest, after.slice(-EDGE))
  if (other)
    throw notUnderstood(`${phrase} … ${other.trim()}`, 'put the whole time in one place, or a colon after it')
}

const ZONE_NAMES =
  '(?:[ECMP]T|[ECMPAN][SD]T|A[CEKW][SD]T|NZ[SD]T|[BHIJK]ST|[CEW]ES?T|MSK|TRT|GST|PKT|NPT|ICT|WIB|SGT|HKT|PHT|SAST|BRT)'
/** A time zone in other words after a time: `9am ET`, `9am London time`. */
const ZONE_WORDS = new RegExp(
  String.raw`^\s*,?\s*\(?(?:${ZONE_NAMES}(?![\w-])|(?:in\s+)?(?:US\s+)?(?:(?:\p{Lu}[\p{L}.]+|local|my|our|your|their|eastern|central|mountain|pacific|server|system)\s+){1,2}(?:standard\s+|daylight\s+)?time(?!\w))`,
  'u',
)
/** Words that are a time zone only after a time of day: `9am in London`, `9am Pacific`. */
const ZONE_PLACE = /^\s*,?\s*\(?(?:in\s+\p{Lu}\p{L}+|(?:US\s+)?(?:Eastern|Central|Mountain|Pacific)(?!\w))/u

/** Throws `usage` for a time zone that is not written as in the time zone database: it would become part of the task. */
function requireNoZone(phrase: string, after: string, isTimed: boolean): void {
  const zone = ZONE_WORDS.exec(after) ?? (isTimed ? ZONE_PLACE.exec(after) : null)
  if (zone) throw notUnderstood(`${phrase}${zone[0]}`, 'write a time zone as in Europe/Berlin')
}

/** A recurring time at the end of a text. */
function repeatedAtEnd(tokens: ReturnType<typeof tokensOf>, text: string): string | undefined {
  const index = tokens.findIndex(
    ({ word }, at) => mayBegin(word) && attempt(() => readRepeated(tokens, at, text))?.end === tokens.length,
  )
  return index < 0 ? undefined : text.slice(tokens[index]?.start)
}

function notUnderstood(phrase: string, why?: string): TriviumError {
  const words = phrase.replaceAll(/\s+/g, ' ').trim()
  const details = `I do not understand the time "${words}"${why ? ` (${why})` : ''}, so nothing is scheduled. Examples: ${EXAMPLES}. A colon separates the time from the task.`
  return new TriviumError('usage', { details })
}

/** Throws `usage` for an unknown time zone. */
function requireZone(zone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
  } catch (error) {
    throw new TriviumError('usage', { details: `There is no time zone ${zone}.` }, { cause: error })
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
