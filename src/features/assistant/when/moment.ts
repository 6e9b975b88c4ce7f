import { notPossible } from './clock.ts'
import { MIDNIGHT } from './plan.ts'

/** Characters at the start and end that are searched for a time: the library takes up to 2 ms per character. */
export const EDGE = 200

/** A time found in a text, with its position. */
export type Moment = Awaited<ReturnType<typeof findMoment>>

/** Finds a time at the start or end of a text. */
export async function findMoment(text: string, { timezone, now }: { timezone: string; now: number }) {
  const { casual } = await import('chrono-node')
  // Missing parts are filled in from the current local time.
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const timesFrom = (begin: number) =>
    casual
      .parse(text.slice(begin, begin + EDGE), reference, { forwardDate: true })
      .map(({ start, end, text: said, index }) => {
        const isTimed =
          start.isCertain('hour') || /\b(noon|midnight|morning|afternoon|evening|night|tonight)\b/i.test(said)
        const at = begin + index
        return { start, isSpan: end !== null && end !== undefined, said, at, end: at + said.length, isTimed }
      })
  const [first] = timesFrom(0)
  if (first?.at === 0) return first
  return timesFrom(Math.max(0, text.length - EDGE)).at(-1) ?? first
}

const DAY = 86_400_000
/** An offset from a time of day, without a day. */
const BESIDE_CLOCK =
  /\b(?:before|after|from|past|until|till|to)\s+(?:at\s+)?(?:noon|midday|midnight|\d[\d:.]*(?:\s*[ap]\.?m\.?)?)$/i
/** Phrases for a time today or a day of this week, even if it has passed. */
const THIS_PART = /\bthis\s+(?:morning|noon|midday|lunchtime|afternoon|evening)\b/i
const THIS_DAY = /\bthis\s+(?:sun|mon|tue|wed|thu|fri|sat)/i

/**
 * The time in ISO 8601, as local time of the zone unless an offset was given. May be in the past. Throws `usage` for an ambiguous or
 * missing time.
 */
export function isoOf(
  { start, said, isTimed }: NonNullable<Moment>,
  { timezone, now }: { timezone: string; now: number },
): string {
  requireOneReading(said)
  requireOneNight(said)
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(part) ?? 0
  const clockTime = (days: number, hour: number, minute: number) =>
    new Date(Date.UTC(get('year'), get('month') - 1, get('day') + days, hour, minute))
      .toISOString()
      .slice(0, 19)
  if (start.isCertain('timezoneOffset')) {
    const time = start.date().getTime()
    const isNow = /^(?:right\s+)?now$/i.test(said)
    // Planned times are whole seconds, and this one must still be in the future when it is stored.
    if (time > now || isNow) return new Date(Math.max(time, Math.ceil(now / 1000 + 1) * 1000)).toISOString()
    if (BESIDE_CLOCK.test(said))
      return new Date(time + offsetAt(now, timezone) * 60_000 + DAY).toISOString().slice(0, 19)
    if (time === now) throw notPossible(said, 'that is right now')
    const isDaily = !start.isCertain('day') && !start.isCertain('weekday')
    return new Date(isDaily ? time + DAY : time).toISOString()
  }
  // A morning starts at nine, as in `every morning`.
  const isNine = !isTimed || (!start.isCertain('hour') && /morning/i.test(said))
  const [hour, minute] = isNine ? [9, 0] : [get('hour'), get('minute')]
  // The library moved a past time to the next day or week.
  const today = Math.floor((now + offsetAt(now, timezone) * 60_000) / DAY)
  const ahead = Date.UTC(get('year'), get('month') - 1, get('day')) / DAY - today
  const isMoved = start.isCertain('weekday')
    ? ahead === 7 && THIS_DAY.test(said)
    : ahead === 1 && THIS_PART.test(said)
  return clockTime(isMoved ? -ahead : 0, hour, minute)
}

/** A day that midnight belongs to. */
const OF_DAY = /\b(?:tonight|tomorrow|\w+day|\d)/i
const AT_NIGHT = /\b(?:to)?night\b.*?\b(?:at|@)\s*(?:12|[1-5])\b(?!\s*[ap]\.?m)/i

/** Throws `usage` for `friday at midnight` and `tonight at 1`, which may be of this day or the next. */
function requireOneNight(said: string): void {
  if (/\bmidnight\b/i.test(said) && OF_DAY.test(said) && !BESIDE_CLOCK.test(said))
    throw notPossible(said, MIDNIGHT)
  if (AT_NIGHT.test(said)) throw notPossible(said, 'say the day after midnight: tomorrow at 1:00')
}

/** Throws `usage` for `5/6`, which may be May 6th or June 5th. */
function requireOneReading(said: string): void {
  const [date, one, mark, two, year = ''] =
    /(?<![\d/.:-])(\d{1,2})([/.-])(\d{1,2})(?:\2(\d{4}|\d{2}))?(?![\d/:])/.exec(said) ?? []
  if (date === undefined || one === undefined || two === undefined) return
  if (mark !== '/' && year === '') return
  const [first, second] = [Number(one), Number(two)]
  if (first === second || first > 12 || second > 12 || first < 1 || second < 1) return
  const day = (day: number, month: number) => `${day} ${MONTHS[month - 1]}${year && ` ${year}`}`
  throw notPossible(
    date,
    `it can mean ${day(first, second)} or ${day(second, first)}; write the month as a word`,
  )
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

/** The start (Unix ms) of the day or time that a text consists of, in the zone. */
export async function beginOf(text: string, timezone: string, now: number): Promise<number | undefined> {
  const { casual } = await import('chrono-node')
  const reference = { instant: new Date(now), timezone: offsetAt(now, timezone) }
  const [found] = casual.parse(text.slice(0, EDGE), reference)
  if (found?.index !== 0 || found.text.length < text.length || found.end) return undefined
  const { start } = found
  if (start.isCertain('timezoneOffset')) return start.date().getTime()
  const get = (part: 'year' | 'month' | 'day' | 'hour' | 'minute') => start.get(part) ?? 0
  const clock = start.isCertain('hour') ? [get('hour'), get('minute')] : [0, 0]
  const named = Date.UTC(get('year'), get('month') - 1, get('day'), ...clock)
  // The library finds the nearest Monday, but the start of a period lies in the past.
  const isNext =
    start.isCertain('weekday') && !start.isCertain('day') && named > now + offsetAt(now, timezone) * 60_000
  const local = isNext ? named - 7 * 86_400_000 : named
  // The offset may have changed since then.
  const near = local - offsetAt(local, timezone) * 60_000
  return local - offsetAt(near, timezone) * 60_000
}

/** Minutes by which a zone is ahead of UTC. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time)
  const [, sign, hours = 0, minutes = 0] =
    /GMT([+-])(\d\d):(\d\d)/.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
