import { DAY, MINUTE } from '../../../core/units.ts'
import { isHourOf, notPossible } from './clock.ts'
import { MIDNIGHT } from './plan.ts'
import { spell } from './spelling.ts'

/** Characters at the start and end that are searched for a time: the library takes up to 2 ms per character. */
export const EDGE = 200

/** A time found in a text, with its position. */
export type Moment = Awaited<ReturnType<typeof findMoment>>

/** Finds a time: at the start of a text, else the last near its end, else the first near its start. `now`: Unix ms. */
export async function findMoment(text: string, { timezone, now }: { timezone: string; now: number }) {
  const { casual } = await import('chrono-node')
  // The library takes missing parts from the current local time.
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const { spelled, originOf } = spell(text)
  const timesFrom = (begin: number) =>
    casual
      .parse(spelled.slice(begin, begin + EDGE), reference, { forwardDate: true })
      .map(({ start, end, text: phrase, index }) => {
        const isTimed = start.isCertain('hour') || PART_OF_DAY.test(phrase)
        const at = begin + index
        return {
          start,
          isSpan: end !== null && end !== undefined,
          phrase,
          at: at === 0 ? 0 : originOf(at),
          end: originOf(at + phrase.length),
          isTimed,
        }
      })
  const [first] = timesFrom(0)
  if (first?.at === 0) return first
  return timesFrom(Math.max(0, spelled.length - EDGE)).at(-1) ?? first
}

const PART_OF_DAY = /\b(noon|midnight|morning|afternoon|evening|night|tonight)\b/i
/** A distance from a time of day, without a day: `2 hours after noon`. */
const RELATIVE_TO_CLOCK =
  /\b(?:before|after|from|past|until|till|to)\s+(?:at\s+)?(?:noon|midday|midnight|\d[\d:.]*(?:\s*[ap]\.?m\.?)?)$/i
/** Phrases for a time of today and for a day of this week, which may have passed. */
const THIS_PART = /\bthis\s+(?:morning|noon|midday|lunchtime|afternoon|evening)\b/i
const THIS_DAY = /\bthis\s+(?:sun|mon|tue|wed|thu|fri|sat)/i

/**
 * The time in ISO 8601: as local time of the zone, or in UTC if the phrase fixes the moment (`in 2
 * hours`, `9am UTC`). May be in the past. Throws `usage` for an ambiguous time.
 */
export function isoOf(
  { start, phrase, isTimed }: NonNullable<Moment>,
  { timezone, now }: { timezone: string; now: number },
): string {
  requireOneReading(phrase)
  requireOneNight(phrase)
  requireMoment(phrase)
  const [, part = ''] = /\b(?:to)?(morning|afternoon|evening|night)\b/i.exec(phrase) ?? []
  if (start.isCertain('hour') && !isHourOf(part.toLowerCase(), start.get('hour') ?? 0))
    throw notPossible(phrase, `that is not in the ${part.toLowerCase()}`)
  const get = (unit: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(unit) ?? 0
  requireWeekday(phrase, new Date(Date.UTC(get('year'), get('month') - 1, get('day'))))
  const localTime = (days: number, hour: number, minute: number) =>
    new Date(Date.UTC(get('year'), get('month') - 1, get('day') + days, hour, minute))
      .toISOString()
      .slice(0, 19)
  if (start.isCertain('timezoneOffset')) {
    const time = start.date().getTime()
    const isNow = /^(?:right\s+)?now$/i.test(phrase)
    // Planned times are whole seconds, and this one must still be in the future when it is stored.
    if (time > now || isNow) return new Date(Math.max(time, Math.ceil(now / 1000 + 1) * 1000)).toISOString()
    if (RELATIVE_TO_CLOCK.test(phrase))
      return new Date(time + offsetAt(now, timezone) * MINUTE + DAY).toISOString().slice(0, 19)
    if (time === now) throw notPossible(phrase, 'that is right now')
    const isDaily = !start.isCertain('day') && !start.isCertain('weekday')
    return new Date(isDaily ? time + DAY : time).toISOString()
  }
  // A morning starts at nine, as in `every morning`.
  const isNine = !isTimed || (!start.isCertain('hour') && /morning/i.test(phrase))
  const [hour, minute] = isNine ? [9, 0] : [get('hour'), get('minute')]
  // `this morning` and `this monday` have passed, but the library moved them to the next day or week.
  const today = Math.floor((now + offsetAt(now, timezone) * MINUTE) / DAY)
  const ahead = Date.UTC(get('year'), get('month') - 1, get('day')) / DAY - today
  const isMoved = start.isCertain('weekday')
    ? ahead === 7 && THIS_DAY.test(phrase)
    : ahead === 1 && THIS_PART.test(phrase)
  return localTime(isMoved ? -ahead : 0, hour, minute)
}

/** A day, whose midnight may be its beginning or its end. */
const OF_DAY = /\b(?:tonight|tomorrow|\w+day|\d)/i
/** An hour after midnight, which may be of the night before or after the day. */
const AT_NIGHT = /\b(?:to)?night\b.*?\b(?:at|@)\s*(?:12|[1-5])\b(?!\s*[ap]\.?m)/i

/** Throws `usage` for `friday at midnight` and `tonight at 1`, which may be of this day or the next. */
function requireOneNight(phrase: string): void {
  if (/\bmidnight\b/i.test(phrase) && OF_DAY.test(phrase) && !RELATIVE_TO_CLOCK.test(phrase))
    throw notPossible(phrase, MIDNIGHT)
  if (AT_NIGHT.test(phrase)) throw notPossible(phrase, 'say the day after midnight: tomorrow at 1:00')
}

/**
 * `before 3pm`, without a distance as in `10 minutes before 3pm`; `last friday`; distances that are not exact, and
 * parts of a week.
 */
const NO_MOMENT =
  /^(?!.*\b(?:minute|min|hour|day|week)s?\s+before\b).*\bbefore\b|^(?:last|past|previous)\s|^24\/7\b|^(?:with)?in\s+(?:about|around|approximately|roughly|~)|^within\b|\b(?:few|several)\b|^next\s+quarter\b|\b(?:end|middle|beginning|start)\s+of\s+(?:\w+\s+)?week\b/i

/** Throws `usage` for a phrase that names no moment: `tomorrow before 3pm`, `end of next week`. */
function requireMoment(phrase: string): void {
  if (NO_MOMENT.test(phrase)) throw notPossible(phrase, 'say at which time, or on which day')
}

const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const NAMED_DAY = /\b(sun|mon|tue|wed|thu|fri|sat)(?:s|nes|rs|r|ur)?(?:day)?\b/i

/** Throws `usage` for `friday 3 december` in a year in which that is a Thursday. */
function requireWeekday(phrase: string, date: Date): void {
  const [, name] = NAMED_DAY.exec(phrase) ?? []
  if (name === undefined || date.getUTCDay() === DAY_NAMES.indexOf(name.toLowerCase())) return
  const day = new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(date)
  throw notPossible(phrase, `the day would be ${day}`)
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

/** The start (Unix ms) of the day or time that the whole text names, in the zone. Undefined for other texts. */
export async function startOf(text: string, timezone: string, now: number): Promise<number | undefined> {
  const { casual } = await import('chrono-node')
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const [found] = casual.parse(text.slice(0, EDGE), reference)
  if (found?.index !== 0 || found.text.length < text.length || found.end) return undefined
  const { start } = found
  if (start.isCertain('timezoneOffset')) return start.date().getTime()
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(part) ?? 0
  const clock = start.isCertain('hour') ? [get('hour'), get('minute')] : [0, 0]
  const nearest = Date.UTC(get('year'), get('month') - 1, get('day'), ...clock)
  // The library finds the nearest Monday, but the start of a period lies in the past.
  const localNow = now + offsetAt(now, timezone) * MINUTE
  const isNext = start.isCertain('weekday') && !start.isCertain('day') && nearest > localNow
  const local = isNext ? nearest - 7 * DAY : nearest
  // The zone may have had another offset then. The first step is within hours of it, the second is exact.
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
