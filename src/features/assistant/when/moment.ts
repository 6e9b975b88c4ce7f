import { DAY, HOUR, MINUTE } from '../../../core/units.ts'
import { isHourOf, notPossible } from './clock.ts'
import { MIDNIGHT } from './plan.ts'
import { spell } from './spelling.ts'

/**
 * Only this many characters at the start and at the end are searched for a time, because the
 * library takes up to 2 ms per character.
 */
export const EDGE = 200

/** A time found in a text. `from` and `to`: its position. */
export type Moment = NonNullable<Awaited<ReturnType<typeof findMoment>>>

/** The time zone of the person, and the current time (Unix ms). */
type Clock = { timezone: string; now: number }

/**
 * Finds a time: the one at the start of a text, else the last one in the `EDGE` characters at the
 * end, else the first one in those at the start.
 */
export async function findMoment(text: string, { timezone, now }: Clock) {
  const { casual } = await import('chrono-node')
  // The library completes a time from the current local time.
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const { spelled, originOf } = spell(text)
  const timesAfter = (begin: number) =>
    casual
      .parse(spelled.slice(begin, begin + EDGE), reference, { forwardDate: true })
      .map(({ start: time, end: endTime, text: phrase, index }) => ({
        time,
        isSpan: endTime !== null && endTime !== undefined,
        phrase,
        from: originOf(begin + index),
        to: originOf(begin + index + phrase.length),
        isTimed: time.isCertain('hour') || PART_OF_DAY.test(phrase),
      }))
  const [first] = timesAfter(0)
  if (first?.from === 0) return first
  return timesAfter(Math.max(0, spelled.length - EDGE)).at(-1) ?? first
}

const PART_OF_DAY = /\b(noon|midnight|morning|afternoon|evening|night|tonight)\b/i
/** A distance from a time of day, without a day: `2 hours after noon`. */
const RELATIVE_TO_CLOCK =
  /\b(?:before|after|from|past|until|till|to)\s+(?:at\s+)?(?:noon|midday|midnight|\d[\d:.]*(?:\s*[ap]\.?m\.?)?)$/i
/** A time of today: `this morning`. */
const THIS_PART = /\bthis\s+(?:morning|noon|midday|lunchtime|afternoon|evening)\b/i
/** A day of this week: `this monday`. */
const THIS_DAY = /\bthis\s+(?:sun|mon|tue|wed|thu|fri|sat)/i

/**
 * The time in ISO 8601: as local time of the zone, or in UTC if the phrase fixes the moment (`in 2
 * hours`, `9am UTC`). May be in the past. Throws `usage` for an ambiguous time.
 */
export function isoOf(moment: Moment, clock: Clock): string {
  const { time, phrase } = moment
  requireOneReading(phrase)
  requireOneNight(phrase)
  requireMoment(phrase)
  requirePossibleHour(moment)
  requireWeekday(phrase, dayOf(time))
  return time.isCertain('timezoneOffset') ? isoOfInstant(moment, clock) : isoOfLocal(moment, clock)
}

/** The time of a phrase that fixes the moment. */
function isoOfInstant({ time, phrase }: Moment, { timezone, now }: Clock): string {
  const instant = time.date().getTime()
  const isNow = /^(?:right\s+)?now$/i.test(phrase)
  // Planned times are whole seconds. This one must still be in the future when it is stored.
  const earliest = Math.ceil(now / 1000 + 1) * 1000
  if (instant > now || isNow) return new Date(Math.max(instant, earliest)).toISOString()
  // `2 hours after noon` is over today: the same local time tomorrow.
  if (RELATIVE_TO_CLOCK.test(phrase)) return localIso(instant + offsetAt(now, timezone) * MINUTE + DAY)
  if (instant === now) throw notPossible(phrase, 'that is right now')
  // `9am UTC` is over today, and means tomorrow.
  const isDaily = !time.isCertain('day') && !time.isCertain('weekday')
  return new Date(isDaily ? instant + DAY : instant).toISOString()
}

/** The local time of a phrase that names a day or a time of day. */
function isoOfLocal({ time, phrase, isTimed }: Moment, { timezone, now }: Clock): string {
  const day = dayOf(time)
  const localNow = now + offsetAt(now, timezone) * MINUTE
  const today = Math.floor(localNow / DAY) * DAY
  const daysAhead = (day - today) / DAY
  // `this morning`, and on a Monday `this monday at 9`, may be over today; the library then moved
  // them to the next day or week.
  const isMoved = time.isCertain('weekday')
    ? daysAhead === 7 && THIS_DAY.test(phrase)
    : daysAhead === 1 && THIS_PART.test(phrase)
  // A day without a time, and a morning, mean nine o'clock, as in `every morning`.
  const isNine = !isTimed || (!time.isCertain('hour') && /morning/i.test(phrase))
  return localIso((isMoved ? today : day) + (isNine ? 9 * HOUR : timeOfDay(time)))
}

/** ISO 8601 without a zone. `local`: local time as if it were UTC (ms), as of `dayOf`. */
function localIso(local: number): string {
  return new Date(local).toISOString().slice(0, 19)
}

/** The beginning of the local day, as if it were UTC (ms). */
function dayOf(time: Moment['time']): number {
  return Date.UTC(time.get('year') ?? 0, (time.get('month') ?? 0) - 1, time.get('day') ?? 0)
}

/** The time since the beginning of the local day (ms). */
function timeOfDay(time: Moment['time']): number {
  return (time.get('hour') ?? 0) * HOUR + (time.get('minute') ?? 0) * MINUTE
}

/** Throws `usage` for `9 in the evening` with an hour that is not in the evening. */
function requirePossibleHour({ time, phrase }: Moment): void {
  const [, match = ''] = /\b(?:to)?(morning|afternoon|evening|night)\b/i.exec(phrase) ?? []
  const part = match.toLowerCase()
  if (time.isCertain('hour') && !isHourOf(part, time.get('hour') ?? 0))
    throw notPossible(phrase, `that is not in the ${part}`)
}

/** A day beside `midnight`, which may be its beginning or its end. */
const OF_DAY = /\b(?:tonight|tomorrow|\w+day|\d)/i
/** `tonight at 1`: an hour after midnight, which can be meant as today's or tomorrow's. */
const AT_NIGHT = /\b(?:to)?night\b.*?\b(?:at|@)\s*(?:12|[1-5])\b(?!\s*[ap]\.?m)/i

/** Throws `usage` for `friday at midnight` and `tonight at 1`: is it that day, or the next? */
function requireOneNight(phrase: string): void {
  if (/\bmidnight\b/i.test(phrase) && OF_DAY.test(phrase) && !RELATIVE_TO_CLOCK.test(phrase))
    throw notPossible(phrase, MIDNIGHT)
  if (AT_NIGHT.test(phrase)) throw notPossible(phrase, 'say the day after midnight: tomorrow at 1:00')
}

/** Phrases that name no moment. */
const NO_MOMENT = [
  // `before 3pm`, but not `10 minutes before 3pm`.
  /^(?!.*\b(?:minute|min|hour|day|week)s?\s+before\b).*\bbefore\b/i,
  /^(?:last|past|previous)\s/i,
  /^24\/7\b/,
  /^within\b/i,
  // Inexact distances: `in about an hour`, `in a few days`.
  /^in\s+(?:about|around|approximately|roughly|~)/i,
  /\b(?:few|several)\b/i,
  // Long periods, and parts of a week: `end of next week`.
  /^next\s+quarter\b/i,
  /\b(?:end|middle|beginning|start)\s+of\s+(?:\w+\s+)?week\b/i,
]

/** Throws `usage` for a phrase that names no moment: `tomorrow before 3pm`, `end of next week`. */
function requireMoment(phrase: string): void {
  if (NO_MOMENT.some((pattern) => pattern.test(phrase)))
    throw notPossible(phrase, 'say at which time, or on which day')
}

const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const NAMED_DAY = /\b(sun|mon|tue|wed|thu|fri|sat)(?:s|nes|rs|r|ur)?(?:day)?\b/i

/** Throws `usage` for `friday 3 december` in a year in which that is a Thursday. */
function requireWeekday(phrase: string, day: number): void {
  const date = new Date(day)
  const [, name] = NAMED_DAY.exec(phrase) ?? []
  if (name === undefined || date.getUTCDay() === DAY_NAMES.indexOf(name.toLowerCase())) return
  const dayInWords = new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(date)
  throw notPossible(phrase, `the day would be ${dayInWords}`)
}

/** A date in digits: `5/6`, `5.6.2027`. */
const DATE =
  /(?<![\d/.:-])(?<date>(?<first>\d{1,2})(?<mark>[/.-])(?<second>\d{1,2})(?:\k<mark>(?<year>\d{4}|\d{2}))?)(?![\d/:])/

/** Throws `usage` for `5/6`, which may be May 6th or June 5th. */
function requireOneReading(phrase: string): void {
  const { date, first: firstDigits, mark, second: secondDigits, year = '' } = DATE.exec(phrase)?.groups ?? {}
  if (date === undefined) return
  // `9.30` and `9-17` are times of day.
  if (mark !== '/' && year === '') return
  const first = Number(firstDigits)
  const second = Number(secondDigits)
  const mayBeMonth = (number: number) => number >= 1 && number <= 12
  if (first === second || !mayBeMonth(first) || !mayBeMonth(second)) return
  const inWords = (day: number, month: number) => `${day} ${MONTHS[month - 1]}${year && ` ${year}`}`
  throw notPossible(
    date,
    `it can mean ${inWords(first, second)} or ${inWords(second, first)}; write the month as a word`,
  )
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

/**
 * The time (Unix ms) at which a past period starts, if the whole text is a day or a time: for a
 * day, its beginning in the zone; for a weekday, the most recent one. Undefined for other texts.
 */
export async function startOf(text: string, timezone: string, now: number): Promise<number | undefined> {
  const { casual } = await import('chrono-node')
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const [found] = casual.parse(text.slice(0, EDGE), reference)
  if (found?.index !== 0 || found.text.length < text.length || found.end) return undefined
  const { start: time } = found
  if (time.isCertain('timezoneOffset')) return time.date().getTime()
  const nearest = dayOf(time) + (time.isCertain('hour') ? timeOfDay(time) : 0)
  const localNow = now + offsetAt(now, timezone) * MINUTE
  // For `monday`, the library finds the nearest one, which may be in the future.
  const isNext = time.isCertain('weekday') && !time.isCertain('day') && nearest > localNow
  const local = isNext ? nearest - 7 * DAY : nearest
  // The offset at `local`, read as UTC, may be from the other side of a clock change. It gives an
  // approximate time, at which the offset is the right one.
  const approximate = local - offsetAt(local, timezone) * MINUTE
  return local - offsetAt(approximate, timezone) * MINUTE
}

/** Minutes by which a zone is ahead of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time)
  const [, sign, hours = 0, minutes = 0] =
    /GMT([+-])(\d\d):(\d\d)/.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
