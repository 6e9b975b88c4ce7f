import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'
import { EXAMPLES } from './when/clock.ts'
import { EDGE, findMoment, isoOf } from './when/moment.ts'
import type { Repetition } from './when/plan.ts'
import { tokensOf } from './when/reader.ts'
import { mayBegin, readRepeated } from './when/repeated.ts'

/**
 * A parsed time in the form of a schedule: cron (or one ISO 8601 time) in `timezone`, or every n ms. `step`: only every nth day, week or
 * month of the cron counts. `what`: the remaining words.
 */
export type When = {
  cron?: string
  step?: string
  every?: number
  timezone: string
  when: string
  what: string
}

/** Linking words between a time and a task, or before a time. */
const LINK = /^(?:\s*[,:;–-])?\s*(?:(?:please|to|do|run|send me|that)\s+)?/i
const ZONE_AFTER =
  /^\s*,?\s*(?:in\s+|\()?(?<zone>UTC|GMT|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?)\)?(?:\s+time)?(?![\w/])/

/**
 * Parses the time in a sentence, without a model: "every weekday at 9 digest", "tomorrow at 10: call Ada", "digest every 2 hours in
 * Europe/Berlin". `timezone`: the default zone. Undefined if no time was found. Throws `usage` for an impossible time, and for one
 * that was not fully understood.
 */
export async function readWhen(
  text: string,
  { timezone, now }: { timezone: string; now: number },
): Promise<When | undefined> {
  const known = zoneOf(undefined, timezone)
  const slips: unknown[] = []
  const found = findRepeated(text, slips) ?? (await findOnce(text, known, now))
  if (!found) {
    if (slips.length > 0) throw slips[0]
    const every = /\b(?:every|each)\b(?:\s+\S+){0,3}/i.exec(text)
    const likely = every ?? LIKELY.exec(text.slice(0, EDGE)) ?? LIKELY_AT_END.exec(text.slice(-EDGE))
    if (likely) throw notUnderstood(likely[0])
    return undefined
  }
  try {
    requireWhole(text, found)
  } catch (error) {
    // An error about the phrase is more helpful than one about the rest.
    throw slips[0] ?? error
  }
  const { start, end, plan, zone } = found
  const [before, after] = [text.slice(0, start).trim(), text.slice(end)]
  const what = before === '' ? after.replace(LINK, '').trim() : before.replace(/[\s,:;–-]+$/, '')
  const when = text.slice(start, end).trim()
  return { ...plan, timezone: zoneOf(zone, timezone), when, what: what.replace(/^to\s+/i, '') }
}

const DATE_WORD =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
/** Words that probably belong to a time, although no known one. */
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

/** Finds a recurring time at the start or end; elsewhere it belongs to the task. `slips`: errors found there. */
function findRepeated(text: string, slips: unknown[]): Found | undefined {
  const begin = Math.max(0, text.length - EDGE)
  const head = tokensOf(text.slice(0, EDGE))
  const leading = mayBegin(head[0]?.word ?? '') ? readRepeated(head, 0, text) : undefined
  if (leading) {
    const { end, ...found } = leading
    const last = head[end - 1]?.end ?? 0
    return { ...found, start: 0, end: last, isTimed: isTimed(text.slice(0, last)), isOnce: false }
  }
  const tail = tokensOf(text.slice(begin).replace(/[\s.!?]+$/, ''))
  for (const [index, { word, start }] of tail.entries()) {
    if (!mayBegin(word) || (index === 0 && begin === 0)) continue
    const found = attempt(() => readRepeated(tail, index, text.slice(begin)), slips)
    if (found?.end !== tail.length) continue
    const { end: _, ...rest } = found
    const said = text.slice(begin + start)
    return { ...rest, start: begin + start, end: text.length, isTimed: isTimed(said), isOnce: false }
  }
  return undefined
}

function attempt<T>(read: () => T, slips: unknown[] = []): T | undefined {
  try {
    return read()
  } catch (error) {
    slips.push(error)
    return undefined
  }
}

async function findOnce(text: string, timezone: string, now: number): Promise<Found | undefined> {
  const moment = await findMoment(text, { timezone, now })
  if (!moment) return undefined
  const zone = ZONE_AFTER.exec(text.slice(moment.end))
  const end = moment.end + (zone?.[0].length ?? 0)
  const start = /^\s*on(?:\s+the)?\s*$/i.test(text.slice(0, moment.at)) ? 0 : moment.at
  // In the middle it belongs to the task.
  if (start > 0 && /[^\s.!?]/.test(text.slice(end))) return undefined
  if (moment.isSpan) throw notUnderstood(moment.said, 'it is a span, not a moment')
  const plan = { cron: isoOf(moment, { timezone: zone?.groups?.zone ?? timezone, now }) }
  const { isTimed } = moment
  return { start, end, plan, isTimed, isOnce: true, ...defined({ zone: zone?.groups?.zone }) }
}

const CLOCK = /\bat\s+(?:\d|noon|midnight|half|quarter)|\d\s*[ap]\.?m\b|\d[:.]\d\d|\b(?:noon|midnight)\b/i
const isTimed = (said: string) => CLOCK.test(said)

const UNIT = '(?:minute|hour|day|week|month|year|fortnight|quarter|weekday|weekend)s?'
const NAMED = `(?:(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?s?|(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec)|mornings?|noon|afternoons?|evenings?|nights?|midnight|tonight|today|tomorrow)`
const AGAIN =
  '(?:every|each|once|twice|thrice|hourly|daily|nightly|weekly|biweekly|fortnightly|monthly|bimonthly|quarterly|yearly|annually|bi|semi|alternate|other)'
/** Words that belong to a time before them. */
const AFTER = new RegExp(
  String.raw`^\s*,?\s*(?:(?:until|till|til|except|excluding|but|for|from|also|plus|then|last|next|first|second|third|starting|starts|beginning|begins|ending|ends|through|thru|after|past|before|and|or|not|unless|if|when|whenever|while|during|between|times?|at|of|am|pm|ago|within|per|o'clock|est|edt|cst|cdt|mst|mdt|pst|pdt|cet|cest|bst|gmt|utc|ist|jst|${UNIT}|${NAMED}|${AGAIN})(?![\w-])|(?:on|in)\s+(?:the\s+)?(?:\d|first|last|second|third|${UNIT}|${NAMED})|the\s+(?:\d|first|last|second|third)|[\d/+&]|-\s*\d)`,
  'i',
)
/** Words that belong to a time after them. */
const BEFORE = new RegExp(
  String.raw`(?:^|[\s-])(?:until|till|til|except|excluding|but|for|from|starting|beginning|ending|through|thru|after|before|by|since|and|or|not|unless|about|around|of|to|than|the|a|an|next|last|first|second|third|during|between|times|per|within|bi|semi|\d+(?:st|nd|rd|th)?|${UNIT}|${NAMED}|${AGAIN})[\s-]*$`,
  'i',
)
const BEGINS_TIMED =
  /^\s*(?:at\s+(?:\d|noon|midnight|half|quarter)|noon|midnight|\d{1,2}(?::\d\d|\s*[ap]\.?m\b))/i
const CLOCK_ALONE = /^(?:at\s+)?(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)$/i
const DAY_AT_END = /\b(?:today|tomorrow|tonight|(?:on\s+|next\s+|this\s+)?\w+day)[\s.!?]*$/i
const BEGINS_AGAIN = new RegExp(`^\\s*${AGAIN}\\b`, 'i')

/** Throws `usage` if adjacent words, or a second time at the other end, belong to the time but were not understood. */
function requireWhole(text: string, { start, end, isTimed, isOnce }: Found): void {
  const [before, after] = [text.slice(0, start), text.slice(end)]
  const said = text.slice(start, end).trim()
  if (start > 0) {
    // Punctuation separates the two.
    if (/[,:;–]\s*$/.test(before)) return
    if (BEFORE.test(before)) throw notUnderstood(`${/\S+\s*$/.exec(before)?.[0] ?? ''}${said}`)
    if (BEGINS_AGAIN.test(before)) throw notUnderstood(before.trim().split(/\s+/).slice(0, 3).join(' '))
    if (!isTimed && BEGINS_TIMED.test(before))
      throw notUnderstood(`${before.trim().split(/\s+/, 2).join(' ')} … ${said}`)
    const every = isOnce ? /\b(?:every|each)\s+\S.*$/is.exec(before) : null
    if (every) throw notUnderstood(`${every[0].trim()} ${said}`)
    return
  }
  if (/^\s*[:;]/.test(after)) return
  requireNoZone(said, after, isTimed)
  const next = /^\s*,?\s*\S+(?:\s+\S+)?/.exec(after)?.[0] ?? ''
  if (AFTER.test(after)) throw notUnderstood(`${said}${next}`)
  const rest = tokensOf(after.slice(-EDGE))
  const clock = isTimed ? null : /\bat\s+(?:\d[\d:.]*\s*(?:[ap]\.?m\.?)?|noon|midnight)[\s.!?]*$/i.exec(after)
  const day = CLOCK_ALONE.test(said) ? DAY_AT_END.exec(after) : null
  const other = clock?.[0] ?? day?.[0] ?? repeatedAtEnd(rest, after.slice(-EDGE))
  if (other)
    throw notUnderstood(`${said} … ${other.trim()}`, 'put the whole time in one place, or a colon after it')
}

const ZONE_NAMES =
  '(?:[ECMP]T|[ECMPAN][SD]T|A[CEKW][SD]T|NZ[SD]T|[BHIJK]ST|[CEW]ES?T|MSK|TRT|GST|PKT|NPT|ICT|WIB|SGT|HKT|PHT|SAST|BRT)'
/** A zone in words after a time, which is not part of the task: `9am ET`, `9am London time`, `9am Pacific`. */
const ZONE_WORDS = new RegExp(
  String.raw`^\s*,?\s*\(?(?:${ZONE_NAMES}(?![\w-])|(?:in\s+)?(?:US\s+)?(?:(?:\p{Lu}[\p{L}.]+|local|my|our|your|their|eastern|central|mountain|pacific|server|system)\s+){1,2}(?:standard\s+|daylight\s+)?time(?!\w))`,
  'u',
)
/** The same, where only a time of day before it tells that it is one. */
const ZONE_PLACE = /^\s*,?\s*\(?(?:in\s+\p{Lu}\p{L}+|(?:US\s+)?(?:Eastern|Central|Mountain|Pacific)(?!\w))/u

/** Throws `usage` for a zone that is not written as in the time zone database, and would become part of the task. */
function requireNoZone(said: string, after: string, isTimed: boolean): void {
  const zone = ZONE_WORDS.exec(after) ?? (isTimed ? ZONE_PLACE.exec(after) : null)
  if (zone) throw notUnderstood(`${said}${zone[0]}`, 'write a time zone as in Europe/Berlin')
}

function repeatedAtEnd(tokens: ReturnType<typeof tokensOf>, text: string): string | undefined {
  const index = tokens.findIndex(
    ({ word }, at) => mayBegin(word) && attempt(() => readRepeated(tokens, at, text))?.end === tokens.length,
  )
  return index < 0 ? undefined : text.slice(tokens[index]?.start)
}

function notUnderstood(said: string, why?: string): TriviumError {
  const words = said.replaceAll(/\s+/g, ' ').trim()
  const details = `I do not understand the time "${words}"${why ? ` (${why})` : ''}, so nothing is scheduled. Examples: ${EXAMPLES}. A colon separates the time from the task.`
  return new TriviumError('usage', { details })
}

/** Throws `usage` for an unknown zone. */
function zoneOf(said: string | undefined, timezone: string): string {
  const zone = said ?? timezone
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone && zone
  } catch (error) {
    throw new TriviumError('usage', { details: `There is no time zone ${zone}.` }, { cause: error })
  }
}

/** Formats a time for people: `Tue, 24 Nov 2026, 09:00 (Europe/Berlin)`. */
export function showTime(time: number, timeZone: string): string {
  const date = new Intl.DateTimeFormat('en-GB', {
    ...defined({ timeZone }),
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })
  return `${date.format(time)} (${timeZone})`
}
