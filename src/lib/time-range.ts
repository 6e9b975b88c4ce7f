import { hasRealDate } from './real-date.ts'

const HOUR = 3_600_000
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const AGE = /^(?:last\s+)?(\d{1,6})\s*(m|min|minutes?|h|hours?|d|days?)$/
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR, d: 24 * HOUR }
const TIME = /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?$/

/** Parts of a day, as hours. */
const PARTS_OF_DAY: ReadonlyMap<string, string> = new Map([
  ['morning', '6-12'],
  ['afternoon', '12-18'],
  ['evening', '18-24'],
])

/**
 * A range of time. Without `until`, it ends now. Without both, it is all time. `startsAt`,
 * `endsAt`: whether the words give the time of the start and of the end (`10-11`), or only the day.
 * `repeats`: the words fit every day (`14:00`) or every week (`monday`), and mean the last one that
 * has begun.
 */
export type TimeRange = {
  since?: number
  until?: number
  startsAt?: 'day' | 'time'
  endsAt?: 'day' | 'time'
  repeats?: 'day' | 'week'
}

type Now = { now?: number; zone?: 'local' | 'utc' }

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
 * `yesterday evening`, `monday 9:30 to 10`, `2026-11-27 8:00-9:30`, `all`. A time of day or a weekday that is still to
 * come is the last one: on a Monday at 8, `9:30` is yesterday, and `monday 9:30` a week ago.
 * Undefined for other words.
 */
export function timeRangeIn(
  text: string,
  { now = Date.now(), zone = 'local' }: Now = {},
): TimeRange | undefined {
  const calendar = calendarOf(zone)
  const words = text.trim().toLowerCase()
  if (words === 'all') return {}
  const [, count, unit = ''] = AGE.exec(words) ?? []
  if (count !== undefined) return { since: now - Number(count) * (UNITS[unit[0] ?? ''] ?? 0) }
  const { name, rest } = partsOf(words)
  const midnight = dayOf(name, now, calendar)
  if (midnight === undefined || (name === '' && !/^\d/.test(rest))) return undefined
  const range = rangeOn(midnight, rest, calendar)
  const repeats = repetitionOf(name)
  if (!range || !repeats) return range
  const isToCome = range.since !== undefined && range.since > now
  const last = isToCome ? rangeOn(calendar.midnight(midnight, -DAYS_IN[repeats]), rest, calendar) : range
  return last && { ...last, repeats }
}

/**
 * The first time (Unix ms) that words such as `14:00` or `monday 9:30` mean after another one.
 * Undefined for words that do not repeat.
 */
export function nextTime(text: string, after: number, zone: 'local' | 'utc' = 'local'): number | undefined {
  const { name, rest } = partsOf(text.trim().toLowerCase())
  const repeats = timeRangeIn(text, { now: after, zone })?.repeats
  const calendar = calendarOf(zone)
  const midnight = dayOf(name, after, calendar)
  if (repeats === undefined || midnight === undefined) return undefined
  const times = [0, DAYS_IN[repeats]].map(
    (days) => rangeOn(calendar.midnight(midnight, days), rest, calendar)?.since,
  )
  return times.find((time) => time !== undefined && time > after)
}

const DAYS_IN = { day: 1, week: 7 } as const

function calendarOf(zone: 'local' | 'utc'): Calendar {
  return zone === 'utc' ? UTC : LOCAL
}

/** The name of the day, empty for a time alone, and the words after it. */
function partsOf(words: string): { name: string; rest: string } {
  // A date has hyphens of its own.
  const name = /^(?:\d{4}-\d\d-\d\d|[a-z]+)/.exec(words)?.[0] ?? ''
  return { name, rest: name === '' ? words : words.slice(name.length).replace(/^[\s,t]+/, '') }
}

function repetitionOf(name: string): 'day' | 'week' | undefined {
  if (name === '') return 'day'
  return isWeekday(name) ? 'week' : undefined
}

/** The range on a day; the whole day without words. */
function rangeOn(midnight: number, rest: string, calendar: Calendar): TimeRange | undefined {
  if (rest !== '') return hoursOf(rest, midnight, calendar)
  return { since: midnight, until: calendar.midnight(midnight, 1), startsAt: 'day', endsAt: 'day' }
}

/** The beginning of a day, by its name or its date. */
function dayOf(name: string, now: number, calendar: Calendar): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(name) ?? []
  if (year !== undefined) {
    return hasRealDate(name) ? calendar.date(Number(year), Number(month), Number(day)) : undefined
  }
  if (name === '' || name === 'today') return calendar.midnight(now)
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

/** `10-11`, `9:30 to 10`, `evening`, or one time: from then on. */
function hoursOf(text: string, midnight: number, calendar: Calendar): TimeRange | undefined {
  const hours = PARTS_OF_DAY.get(text) ?? text
  const [from = '', to, ...more] = hours.split(/\s*(?:-|–|to|until)\s*/)
  if (more.length > 0) return undefined
  const since = timeOn(midnight, from, calendar)
  if (since === undefined) return undefined
  if (to === undefined) return { since, startsAt: 'time' }
  const until = timeOn(midnight, to, calendar)
  return until === undefined || until <= since
    ? undefined
    : { since, until, startsAt: 'time', endsAt: 'time' }
}

function timeOn(midnight: number, text: string, calendar: Calendar): number | undefined {
  const [, hour, minute = '0', second = '0'] = TIME.exec(text) ?? []
  if (hour === undefined || Number(minute) > 59 || Number(second) > 59) return undefined
  // 24:00 is the end of the day.
  if (Number(hour) > 24 || (Number(hour) === 24 && Number(minute) + Number(second) > 0)) return undefined
  return calendar.timeOn(midnight, Number(hour), Number(minute), Number(second))
}
