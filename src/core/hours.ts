import { z } from 'zod'
import { hint, nearest, quote } from '../lib/nearest.ts'
import { isTimeZone } from '../lib/time-zone.ts'
import { MINUTE } from './units.ts'

/** Compiled `hours` of a `match`. Neither method throws. */
export type Hours = {
  fits(time: number): boolean
  /** Formats a time as local time in the time zone of the hours: `Sat 22:14 Europe/Berlin`. */
  clock(time: number): string
}

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const MINUTES_OF_DAY = 24 * 60
const MINUTES_OF_WEEK = 7 * MINUTES_OF_DAY
/** Maximum characters of a text. */
const MAX_LENGTH = 500
const EXAMPLE = 'Mon-Fri 09:00-17:00 Europe/Berlin'

/**
 * A span in minutes since Monday 00:00; in a `Rule`, since midnight. `end` is exclusive, and may
 * lie in the following week; in a `Rule`, in the following day.
 */
type Span = { start: number; end: number }

/** Days (0 is Monday) with their times of day, in minutes. No times: the whole day. */
type Rule = { days: number[]; times: Span[] }

/**
 * Compiles `Mon-Fri 09:00-12:00, 13:00-17:00; Sat 10:00-14:00 Europe/Berlin`: groups of days and
 * times, then the time zone (default UTC). A span over midnight (`22:00-06:00`) belongs to the day
 * on which it begins. Times are local: those skipped by a DST change never match, those repeated
 * match twice. Throws an Error with the reason for an invalid text.
 */
export function compileHours(source: string): Hours {
  const { rules, zone } = parse(source)
  const spans = rules.flatMap(spansOf)
  const minuteOf = createMinuteOfWeek(zone)
  return {
    fits(time) {
      const minute = minuteOf(time)
      if (minute === undefined) return false
      // A span that begins on Sunday may end on Monday, with an `end` after the end of the week.
      const contains = ({ start, end }: Span) =>
        (minute >= start && minute < end) || minute + MINUTES_OF_WEEK < end
      return spans.some(contains)
    },
    clock(time) {
      const minute = minuteOf(time)
      if (minute === undefined) return 'invalid time'
      const day = DAYS[Math.floor(minute / MINUTES_OF_DAY)]?.slice(0, 3)
      return `${day} ${formatTime(minute % MINUTES_OF_DAY)} ${zone}`
    },
  }
}

/** Hours in configuration, checked by `compileHours`. Parses to the text itself. */
export const hoursText = z
  .string({ error: `expected hours such as "${EXAMPLE}", or a list of them` })
  .superRefine((source, context) => {
    try {
      compileHours(source)
    } catch (error) {
      const reason = error instanceof Error ? error.message : error
      context.addIssue({ code: 'custom', message: `the hours ${quote(source)}: ${reason}`, input: source })
    }
  })

function parse(source: string): { rules: Rule[]; zone: string } {
  if (source.length > MAX_LENGTH) throw new Error(`longer than ${MAX_LENGTH} characters`)
  const words = source
    .replaceAll(/\s*[–—]\s*|\s+-\s+/g, '-')
    .split(/[\s,;]+/)
    .filter(Boolean)
  const rules: Rule[] = []
  let zone: string | undefined
  for (const word of words) {
    if (zone !== undefined)
      throw new Error(
        `${quote(word)} comes after the time zone, which must be last; use a list for several time zones`,
      )
    const days = daysOf(word)
    const time = days ? undefined : timeOf(word)
    const open = rules.at(-1)
    // Days directly after days belong to the same rule; days after a time start a new one.
    if (days && open?.times.length === 0) open.days.push(...days)
    else if (days) rules.push({ days, times: [] })
    else if (time && open) open.times.push(time)
    else if (time) rules.push({ days: DAYS.map((_, day) => day), times: [time] })
    else if (open && isTimeZone(word)) zone = word
    else throw new Error(whyInvalid(word))
  }
  if (rules.length === 0) throw new Error(`it has no days or times; write ${quote(EXAMPLE)}`)
  return { rules, zone: zone ?? 'UTC' }
}

/** The days of `Mon`, `Mon-Fri` or `Fri-Mon`, from 0 for Monday; undefined for other words. */
function daysOf(word: string): number[] | undefined {
  const [first, last, ...others] = word.split('-').map(dayOf)
  if (first === undefined || others.length > 0) return undefined
  if (!word.includes('-')) return [first]
  if (last === undefined) return undefined
  const count = ((last - first + 7) % 7) + 1
  return Array.from({ length: count }, (_, at) => (first + at) % 7)
}

/** `Mo`, `Mon`, `monday`: two letters identify a day. */
function dayOf(name: string): number | undefined {
  if (name.length < 2) return undefined
  const found = DAYS.findIndex((day) => day.toLowerCase().startsWith(name.toLowerCase()))
  return found < 0 ? undefined : found
}

function timeOf(word: string): Span | undefined {
  const found = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(word)
  if (!found) return undefined
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = found.slice(1).map(Number)
  const start = fromHour * 60 + fromMinute
  const end = toHour * 60 + toMinute
  if (fromMinute > 59 || toMinute > 59 || start >= MINUTES_OF_DAY || end > MINUTES_OF_DAY)
    throw new Error(`${quote(word)} is not a time range within 00:00-24:00`)
  if (start === end)
    throw new Error(`${quote(word)} begins and ends at the same time; write 00:00-24:00 for the whole day`)
  return { start, end: end < start ? end + MINUTES_OF_DAY : end }
}

function spansOf({ days, times }: Rule): Span[] {
  const timesOfDay = times.length > 0 ? times : [{ start: 0, end: MINUTES_OF_DAY }]
  return days.flatMap((day) => {
    const midnight = day * MINUTES_OF_DAY
    return timesOfDay.map(({ start, end }) => ({ start: midnight + start, end: midnight + end }))
  })
}

/** Why a word is not valid at its place. */
function whyInvalid(word: string): string {
  if (/^\d/.test(word)) return `${quote(word)} is not a time range such as 09:00-17:00`
  if (isTimeZone(word)) return `the time zone ${quote(word)} must come last, after days and times`
  if (word.includes('/')) {
    const near = nearest(word, Intl.supportedValuesOf('timeZone'))
    return `there is no time zone ${quote(word)}${near === undefined ? '' : `; did you mean "${near}"?`}`
  }
  const wrong = word.split('-').find((name) => dayOf(name) === undefined) ?? word
  return `${quote(wrong)} is neither a day, a time range nor a time zone${hint(wrong, DAYS)}`
}

/**
 * Makes a function that returns the minute of the week in a time zone; undefined for an invalid
 * time. Caches the last result, because `Intl` is slow.
 */
function createMinuteOfWeek(zone: string): (time: number) => number | undefined {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  let cached: { at: number; minute: number } | undefined
  return (time) => {
    const at = Math.floor(time / MINUTE)
    if (cached?.at === at) return cached.minute
    if (Number.isNaN(new Date(time).getTime())) return undefined
    const found = new Map(parts.formatToParts(time).map(({ type, value }) => [type, value]))
    const day = DAYS.indexOf(found.get('weekday') ?? '')
    const minute = day * MINUTES_OF_DAY + Number(found.get('hour')) * 60 + Number(found.get('minute'))
    cached = { at, minute }
    return minute
  }
}

function formatTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}
