import { z } from 'zod'
import { hint, nearest, quote } from '../lib/nearest.ts'
import { isTimeZone } from '../lib/time-zone.ts'

/** Compiled `hours` of a `match`. Neither method throws. */
export type Hours = {
  /** Whether a time (Unix ms) is within the hours. */
  fits(time: number): boolean
  /** A time as clocks show it there: `Sat 22:14 Europe/Berlin`. */
  clock(time: number): string
}

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const [MINUTES_OF_DAY, MINUTES_OF_WEEK] = [1_440, 10_080]
const MOST_LETTERS = 500
const EXAMPLE = 'Mon-Fri 09:00-17:00 Europe/Berlin'

/** Minutes from Monday 00:00; `end` is not in it, and lies in the next week where a night does. */
type Span = { start: number; end: number }

/** Some days with their times of day, in minutes. Without days it is every day, without times the whole day. */
type Rule = { days: number[]; times: Span[] }

/**
 * Compiles `Mon-Fri 09:00-12:00, 13:00-17:00; Sat 10:00-14:00 Europe/Berlin`: days, then times, as often as needed, then the time
 * zone (UTC without one). A night (`22:00-06:00`) belongs to the day on which it begins. Times are those of the clock on the
 * wall: what it skips in spring is in no range, and what it shows twice in autumn counts twice. Throws an Error that says what is wrong.
 */
export function compileHours(source: string): Hours {
  const { rules, zone } = parse(source)
  const spans = rules.flatMap(spansOf)
  const minuteOf = weekClock(zone)
  return {
    fits(time) {
      const minute = minuteOf(time)
      if (minute === undefined) return false
      const isIn = ({ start, end }: Span) =>
        (minute >= start && minute < end) || minute + MINUTES_OF_WEEK < end
      return spans.some(isIn)
    },
    clock(time) {
      const minute = minuteOf(time)
      if (minute === undefined) return 'no time'
      const day = DAYS[Math.floor(minute / MINUTES_OF_DAY)]?.slice(0, 3)
      return `${day} ${formatTime(minute % MINUTES_OF_DAY)} ${zone}`
    },
  }
}

/** Hours in configuration: text that `compileHours` takes. Parses to the text itself. */
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
  if (source.length > MOST_LETTERS) throw new Error(`longer than ${MOST_LETTERS} characters`)
  const words = source
    .replaceAll(/\s*[–—]\s*|\s+-\s+/g, '-')
    .split(/[\s,;]+/)
    .filter(Boolean)
  const rules: Rule[] = []
  let zone: string | undefined
  for (const word of words) {
    if (zone !== undefined)
      throw new Error(
        `${quote(word)} comes after the time zone, which goes last; hours of several zones are a list`,
      )
    const days = daysOf(word)
    const time = days ? undefined : timeOf(word)
    const last = rules.at(-1)
    if (days && last?.times.length === 0) last.days.push(...days)
    else if (days) rules.push({ days, times: [] })
    else if (time && last) last.times.push(time)
    else if (time) rules.push({ days: DAYS.map((_, day) => day), times: [time] })
    else if (last && isTimeZone(word)) zone = word
    else throw new Error(whyNot(word))
  }
  if (rules.length === 0) throw new Error(`no days and no times; write ${quote(EXAMPLE)}`)
  return { rules, zone: zone ?? 'UTC' }
}

/** The days of `Mon`, `Mon-Fri` or `Fri-Mon`, from Monday: 0. Undefined for other words. */
function daysOf(word: string): number[] | undefined {
  const [first, last, ...others] = word.split('-').map(dayOf)
  if (first === undefined || others.length > 0) return undefined
  if (!word.includes('-')) return [first]
  if (last === undefined) return undefined
  const count = ((last - first + 7) % 7) + 1
  return Array.from({ length: count }, (_, at) => (first + at) % 7)
}

/** `Mo`, `Mon`, `monday`: two letters tell all days apart. */
function dayOf(name: string): number | undefined {
  if (name.length < 2) return undefined
  const found = DAYS.findIndex((day) => day.toLowerCase().startsWith(name.toLowerCase()))
  return found < 0 ? undefined : found
}

function timeOf(word: string): Span | undefined {
  const found = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(word)
  if (!found) return undefined
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = found.slice(1).map(Number)
  const [start, end] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute]
  if (fromMinute > 59 || toMinute > 59 || start >= MINUTES_OF_DAY || end > MINUTES_OF_DAY)
    throw new Error(`${quote(word)} is no range of times between 00:00 and 24:00`)
  if (start === end)
    throw new Error(`${quote(word)} begins and ends at the same time; the whole day is 00:00-24:00`)
  return { start, end: end < start ? end + MINUTES_OF_DAY : end }
}

function spansOf({ days, times }: Rule): Span[] {
  const ofDay = times.length > 0 ? times : [{ start: 0, end: MINUTES_OF_DAY }]
  return days.flatMap((day) =>
    ofDay.map(({ start, end }) => ({ start: day * MINUTES_OF_DAY + start, end: day * MINUTES_OF_DAY + end })),
  )
}

function whyNot(word: string): string {
  if (/^\d/.test(word)) return `${quote(word)} is no range of times; write it as 09:00-17:00`
  if (isTimeZone(word)) return `the time zone ${quote(word)} goes last, after days and times`
  if (word.includes('/')) {
    const near = nearest(word, Intl.supportedValuesOf('timeZone'))
    return `there is no time zone ${quote(word)}${near === undefined ? '' : `; did you mean "${near}"?`}`
  }
  const wrong = word.split('-').find((name) => dayOf(name) === undefined) ?? word
  return `${quote(wrong)} is neither a day, a range of times nor a time zone${hint(wrong, DAYS)}`
}

/** Returns what finds the minute of the week in a zone; undefined for what is no time. The last one is remembered: clocks are slow to ask. */
function weekClock(zone: string): (time: number) => number | undefined {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone: zone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  })
  let known: { at: number; minute: number } | undefined
  return (time) => {
    const at = Math.floor(time / 60_000)
    if (known?.at === at) return known.minute
    if (Number.isNaN(new Date(time).getTime())) return undefined
    const found = new Map(parts.formatToParts(time).map(({ type, value }) => [type, value]))
    const day = DAYS.indexOf(found.get('weekday') ?? '')
    const minute = day * MINUTES_OF_DAY + Number(found.get('hour')) * 60 + Number(found.get('minute'))
    known = { at, minute }
    return minute
  }
}

function formatTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}
