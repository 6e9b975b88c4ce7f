import { hasRealDate } from './real-date.ts'

const HOUR = 3_600_000
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const AGE = /^(?:last\s+)?(\d{1,6})\s*(m|min|minutes?|h|hours?|d|days?)$/
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR, d: 24 * HOUR }
const TIME = /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?$/

/**
 * A range of time. Without `until`, it ends now. Without both, it is all time. `endsAt`: whether
 * the words give the time of the end (`10-11`), or only its day.
 */
export type TimeRange = { since?: number; until?: number; endsAt?: 'day' | 'time' }

/** Days and times of day, in the time of this computer or in UTC. */
type Calendar = {
  midnight(at: number, days?: number): number
  weekday(at: number): number
  date(year: number, month: number, day: number): number
  timeOn(midnight: number, hour: number, minute: number, second: number): number
}

const LOCAL: Calendar = {
  midnight(at, days = 0) {
    const day = new Date(at)
    day.setHours(0, 0, 0, 0)
    return day.setDate(day.getDate() + days)
  },
  weekday: (at) => new Date(at).getDay(),
  date: (year, month, day) => new Date(year, month - 1, day).getTime(),
  timeOn: (midnight, hour, minute, second) => new Date(midnight).setHours(hour, minute, second),
}

const UTC: Calendar = {
  midnight: (at, days = 0) => new Date(at).setUTCHours(0, 0, 0, 0) + days * 24 * HOUR,
  weekday: (at) => new Date(at).getUTCDay(),
  date: (year, month, day) => Date.UTC(year, month - 1, day),
  timeOn: (midnight, hour, minute, second) => midnight + ((hour * 60 + minute) * 60 + second) * 1_000,
}

/**
 * Reads a range of time in words: `1h`, `last 15 min`, `today`, `yesterday 10-11`,
 * `monday 9:30 to 10`, `2026-11-27 8:00-9:30`, `all`. A weekday is the last one: on a Monday
 * morning at 8, `monday 9:30` is a week ago. Undefined for other words.
 */
export function timeRangeIn(
  text: string,
  { now = Date.now(), zone = 'local' }: { now?: number; zone?: 'local' | 'utc' } = {},
): TimeRange | undefined {
  const calendar = zone === 'utc' ? UTC : LOCAL
  const words = text.trim().toLowerCase()
  if (words === 'all') return {}
  const [, count, unit = ''] = AGE.exec(words) ?? []
  if (count !== undefined) return { since: now - Number(count) * (UNITS[unit[0] ?? ''] ?? 0) }
  // A date has hyphens of its own.
  const date = /^\d{4}-\d\d-\d\d/.exec(words)?.[0]
  const name = date ?? /^[a-z]+/.exec(words)?.[0] ?? (/^\d/.test(words) ? 'today' : '')
  const midnight = dayOf(name, now, calendar)
  if (midnight === undefined) return undefined
  const rest = (words.startsWith(name) ? words.slice(name.length) : words).replace(/^[\s,t]+/, '')
  if (rest === '') return { since: midnight, until: calendar.midnight(midnight, 1), endsAt: 'day' }
  const range = hoursOf(rest, midnight, calendar)
  const isToCome = range?.since !== undefined && range.since > now
  return isToCome && isWeekday(name) ? hoursOf(rest, calendar.midnight(midnight, -7), calendar) : range
}

/** The beginning of a day, by its name or its date. */
function dayOf(name: string, now: number, calendar: Calendar): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(name) ?? []
  if (year !== undefined) {
    return hasRealDate(name) ? calendar.date(Number(year), Number(month), Number(day)) : undefined
  }
  if (name === 'today') return calendar.midnight(now)
  if (name === 'yesterday') return calendar.midnight(now, -1)
  if (!isWeekday(name)) return undefined
  return calendar.midnight(now, -((calendar.weekday(now) - weekdayOf(name) + 7) % 7))
}

function isWeekday(name: string): boolean {
  return name.length >= 3 && weekdayOf(name) >= 0
}

function weekdayOf(name: string): number {
  return DAYS.findIndex((each) => each.startsWith(name))
}

/** `10-11`, `9:30 to 10`, or one time: from then on. */
function hoursOf(text: string, midnight: number, calendar: Calendar): TimeRange | undefined {
  const [from = '', to, ...more] = text.split(/\s*(?:-|–|to|until)\s*/)
  if (more.length > 0) return undefined
  const since = timeOn(midnight, from, calendar)
  if (since === undefined) return undefined
  if (to === undefined) return { since }
  const until = timeOn(midnight, to, calendar)
  return until === undefined || until <= since ? undefined : { since, until, endsAt: 'time' }
}

function timeOn(midnight: number, text: string, calendar: Calendar): number | undefined {
  const [, hour, minute = '0', second = '0'] = TIME.exec(text) ?? []
  if (hour === undefined || Number(minute) > 59 || Number(second) > 59) return undefined
  // 24:00 is the end of the day.
  if (Number(hour) > 24 || (Number(hour) === 24 && Number(minute) + Number(second) > 0)) return undefined
  return calendar.timeOn(midnight, Number(hour), Number(minute), Number(second))
}
