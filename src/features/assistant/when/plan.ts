import { notPossible, type PartOfDay } from './clock.ts'
import type { Dates } from './days.ts'

export type Unit = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

/** The parsed parts of a recurring time. Days of the week: Sunday is 0. */
export type Parts = {
  unit?: Unit
  /** Every n units. */
  count?: number
  /** Whether the unit was given as quarters, which begin in January, April, July and October. */
  isQuarter?: boolean
  /** Number of times per unit. */
  times?: number
  days?: number[]
  /** Days of the week that are left out. */
  except?: number[]
  /** Days of a month. */
  dates?: Dates
  /** The day of a yearly recurrence. */
  yearDay?: { date: number; month: number }
  /** Times of day, in minutes after midnight. */
  clocks?: number[]
  /** `9 to 17` of `every hour from 9 to 17`, in minutes after midnight; both ends are included. */
  window?: { from: number; to: number }
  /** The part of the day: `every morning`. */
  part?: PartOfDay
  zone?: string
}

/**
 * A recurrence: a cron expression, or an interval in ms. Several expressions are joined by ` | `.
 * With `step: '2 weeks'`, only every second week counts; likewise for days and months.
 */
export type Repetition = { cron: string; step?: string } | { every: number }

/** Why midnight of a day cannot be scheduled. */
export const MIDNIGHT = 'midnight can be the beginning or the end of that day; say 0:00 or 23:59'

const MINUTES_OF_DAY = 24 * 60
/** Default time of day, in minutes after midnight. */
const DEFAULT_TIME = 9 * 60
const TWICE_A_DAY = [DEFAULT_TIME, 21 * 60]
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6]
/** The day of `every week`. */
const MONDAY = 1
/** Maximum number of cron expressions; more indicate a mistake. */
const MAX_CRONS = 12

/** Makes a recurrence from the parts of the phrase `words`. Throws `usage` if they do not fit. */
export function planOf(parts: Parts, words: string): Repetition {
  const refuse = (why: string) => notPossible(words, why)
  const { unit, count = 1, times, window, clocks } = parts
  if (count < 1) throw refuse('it never comes')
  if (times !== undefined && times < 1) throw refuse('it never comes')
  if (unit === 'minute' || unit === 'hour') return planOfHours(parts, refuse)
  if (window) throw refuse('from and to go with hours: every hour from 9 to 17')
  if (clocks && /\bmidnight\b/i.test(words) && (parts.days ?? parts.dates ?? parts.yearDay))
    throw refuse(MIDNIGHT)
  const at = timesOfDay(parts, refuse)
  const step = count > 1 ? { step: `${count} ${unit}s` } : {}
  if (unit === 'year') return { cron: cronOf(at, dateOfYear(parts, refuse)), ...yearly(count) }
  if (unit === 'month')
    return { cron: cronOf(at, datesOf(parts, refuse)), ...(quartersOf(parts) ? {} : step) }
  const days = daysOf(parts)
  if (days.length === 0) throw refuse('no day is left')
  if (parts.dates) throw refuse('say the days of the week, or those of the month')
  if (unit === 'day') {
    if (times !== undefined && times > 2 && clocks === undefined)
      throw refuse('say at which times: every day at 9, 13 and 17')
    if (count > 1 && days.length < 7) throw refuse('say "every day" or "every 2 days"')
    return { cron: cronOf(at, onDays(days)), ...step }
  }
  if (times !== undefined && times > 1 && parts.days?.length !== times)
    throw refuse('say on which days: every monday and thursday')
  if (!parts.days && !days.includes(MONDAY))
    throw refuse('every week is on Monday, which is left out; say on which day')
  return { cron: cronOf(at, onDays(parts.days ? days : [MONDAY])), ...step }
}

type Refuse = (why: string) => Error

/** Every n minutes or hours, optionally in a window and on some days of the week. */
function planOfHours(parts: Parts, refuse: Refuse): Repetition {
  const { unit, times, window } = parts
  const minutes = ((parts.count ?? 1) * (unit === 'hour' ? 60 : 1)) / (times ?? 1)
  if (!Number.isInteger(minutes)) throw refuse('that is not a whole number of minutes')
  if (parts.clocks || parts.part)
    throw refuse('a time of day goes with days: every day, every weekday, every monday')
  if (parts.dates) throw refuse('hours go with days of the week')
  const days = daysOf(parts)
  if (!window && days.length === 7)
    return minutes === 60 ? { cron: '0 * * * *' } : { every: minutes * 60_000 }
  if (days.length === 0) throw refuse('no day is left')
  const { from, to } = window ?? { from: 0, to: MINUTES_OF_DAY - 1 }
  if (!window && MINUTES_OF_DAY % minutes !== 0)
    throw refuse('say from when to when: every 5 hours from 8 to 18')
  const at: number[] = []
  for (let minute = from; minute <= to; minute += minutes) at.push(minute)
  const cron = cronOf(at, onDays(days))
  if (cron.split(' | ').length > MAX_CRONS) throw refuse('use minutes that divide an hour: 10, 15, 20 or 30')
  return { cron }
}

function timesOfDay({ unit, times, clocks, part }: Parts, refuse: Refuse): number[] {
  if (unit === 'day' && times !== undefined && clocks !== undefined && clocks.length !== times)
    throw refuse(`that names ${clocks.length} times of day, not ${times}`)
  if (clocks) return clocks
  if (unit === 'day' && times === 2) {
    if (part) throw refuse('say at which times: every day at 9 and 21')
    return TWICE_A_DAY
  }
  return [part?.minute ?? DEFAULT_TIME]
}

/** The days of the week without those left out. */
function daysOf({ days = EVERY_DAY, except = [] }: Parts): number[] {
  return days.filter((day) => !except.includes(day))
}

/**
 * The months, for cron, if the recurrence keeps to the quarters of the calendar: `every quarter`,
 * `every 2 quarters`, and `every 3 months` without a day. Otherwise undefined: months are counted
 * from the start.
 */
function quartersOf({ count, dates, isQuarter }: Parts): string | undefined {
  if (isQuarter && count === 6) return '1,7'
  return count === 3 && (isQuarter || dates === undefined) ? '1,4,7,10' : undefined
}

/** The last three fields of a cron: days of every month. */
function datesOf(parts: Parts, refuse: Refuse): string {
  const { dates = { dates: ['1'] }, times } = parts
  if (parts.days) throw refuse('say which one: the first monday of the month')
  if (parts.except) throw refuse('say the days of the month')
  if (times !== undefined && times > 1 && parts.dates?.dates?.length !== times)
    throw refuse('say on which days: on the 1st and 15th of the month')
  const impossible = dates.dates?.find((date) => Number(date) > 31 || Number(date) < 1)
  if (impossible !== undefined) throw refuse('a month has 31 days at most')
  const months = quartersOf(parts) ?? '*'
  return dates.nth ? `* ${months} ${dates.nth.join()}` : `${dates.dates?.join()} ${months} *`
}

/** The last three fields of a cron: one day of every year. */
function dateOfYear({ yearDay, days, dates, except, times = 1 }: Parts, refuse: Refuse): string {
  if (!yearDay || days || dates || except || times > 1) throw refuse('say on which day: every year on 5 May')
  const { date, month } = yearDay
  // 2024 is a leap year, so it has every date.
  if (date > new Date(Date.UTC(2024, month, 0)).getUTCDate()) throw refuse('there is no such day')
  return `${date} ${month} *`
}

function yearly(count: number): { step?: string } {
  return count > 1 ? { step: `${count * 12} months` } : {}
}

/** The last three fields of a cron: days of the week. */
function onDays(days: readonly number[]): string {
  return days.length < 7 ? `* * ${days.join()}` : '* * *'
}

/**
 * A cron for times of day: one expression per distinct minute of the hour. `days`: its last three
 * fields.
 */
function cronOf(at: readonly number[], days: string): string {
  const byMinute = Map.groupBy(at, (minute) => minute % 60)
  return [...byMinute]
    .map(([minute, all]) => `${minute} ${all.map((time) => Math.floor(time / 60)).join()} ${days}`)
    .join(' | ')
}
