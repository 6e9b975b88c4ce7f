import { notPossible, type PartOfDay } from './clock.ts'
import type { Dates } from './days.ts'

export type Unit = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

/** The parsed parts of a recurring time. */
export type Said = {
  unit?: Unit
  /** Every n units. */
  count?: number
  /** The months are named as quarters, which begin in January, April, July and October. */
  isQuarter?: boolean
  /** n times per unit. */
  times?: number
  /** Days of the week, Sunday is 0. */
  days?: number[]
  except?: number[]
  dates?: Dates
  birthday?: { date: number; month: number }
  /** Minutes after midnight. */
  clocks?: number[]
  window?: { from: number; to: number }
  part?: PartOfDay
  zone?: string
}

/**
 * A recurrence: cron (several joined by ` | `), of which only every nth day, week or month counts (`step`), or every n ms.
 */
export type Repetition = { cron: string; step?: string } | { every: number }

/** Why midnight of a day cannot be scheduled. */
export const MIDNIGHT = 'midnight can be the beginning or the end of that day; say 0:00 or 23:59'

/** Default time of day. */
const NINE = 9 * 60
const TWICE = [NINE, 21 * 60]
const ALL = [0, 1, 2, 3, 4, 5, 6]
/** Maximum number of cron expressions; more indicate a mistake. */
const MOST = 12

/** Makes a recurrence from all parts. Throws `usage` if they cannot be combined. */
export function planOf(said: Said, words: string): Repetition {
  const refuse = (why: string) => notPossible(words, why)
  const { unit, count = 1, times, window, clocks } = said
  if (count < 1) throw refuse('it never comes')
  if (times !== undefined && times < 1) throw refuse('it never comes')
  if (unit === 'minute' || unit === 'hour') return byTheClock(said, refuse)
  if (window) throw refuse('from and to go with hours: every hour from 9 to 17')
  if (clocks && /\bmidnight\b/i.test(words) && (said.days ?? said.dates ?? said.birthday))
    throw refuse(MIDNIGHT)
  const at = timesOfDay(said, refuse)
  const step = count > 1 ? { step: `${count} ${unit}s` } : {}
  if (unit === 'year') return { cron: cronOf(at, dateOfYear(said, refuse)), ...yearly(count) }
  if (unit === 'month') return { cron: cronOf(at, datesOf(said, refuse)), ...(quartersOf(said) ? {} : step) }
  const days = daysOf(said)
  if (days.length === 0) throw refuse('no day is left')
  if (said.dates) throw refuse('say the days of the week, or those of the month')
  if (unit === 'day') {
    if (times !== undefined && times > 1 && said.clocks === undefined && times !== 2)
      throw refuse('say at which times: every day at 9, 13 and 17')
    if (count > 1 && days.length < 7) throw refuse('say "every day" or "every 2 days"')
    return { cron: cronOf(at, days.length < 7 ? `* * ${days.join()}` : '* * *'), ...step }
  }
  if (times !== undefined && times > 1 && said.days?.length !== times)
    throw refuse('say on which days: every monday and thursday')
  return { cron: cronOf(at, `* * ${(said.days ? days : [1]).join()}`), ...step }
}

type Refuse = (why: string) => Error

/** Every n minutes, optionally within hours of a day and on some days. */
function byTheClock(said: Said, refuse: Refuse): Repetition {
  const { unit, times, window } = said
  const minutes = ((said.count ?? 1) * (unit === 'hour' ? 60 : 1)) / (times ?? 1)
  if (!Number.isInteger(minutes)) throw refuse('that is not a whole number of minutes')
  if (said.clocks || said.part)
    throw refuse('a time of day goes with days: every day, every weekday, every monday')
  if (said.dates) throw refuse('hours go with days of the week')
  const days = daysOf(said)
  if (!window && days.length === 7)
    return minutes === 60 ? { cron: '0 * * * *' } : { every: minutes * 60_000 }
  if (days.length === 0) throw refuse('no day is left')
  const { from, to } = window ?? { from: 0, to: 1439 }
  if (!window && 1440 % minutes !== 0) throw refuse('say from when to when: every 5 hours from 8 to 18')
  const at: number[] = []
  for (let minute = from; minute <= to; minute += minutes) at.push(minute)
  const cron = cronOf(at, days.length < 7 ? `* * ${days.join()}` : '* * *')
  if (cron.split(' | ').length > MOST) throw refuse('use minutes that divide an hour: 10, 15, 20 or 30')
  return { cron }
}

function timesOfDay({ unit, times, clocks, part }: Said, refuse: Refuse): number[] {
  if (unit === 'day' && times !== undefined && clocks !== undefined && clocks.length !== times)
    throw refuse(`that names ${clocks.length} times of day, not ${times}`)
  if (clocks) return clocks
  if (unit === 'day' && times === 2) return TWICE
  return [part?.minute ?? NINE]
}

function daysOf({ days = ALL, except = [] }: Said): number[] {
  return days.filter((day) => !except.includes(day))
}

/** The months in which quarters begin; undefined if it is not about quarters. */
function quartersOf({ count, dates, isQuarter }: Said): string | undefined {
  if (isQuarter && count === 6) return '1,7'
  return count === 3 && (isQuarter || dates === undefined) ? '1,4,7,10' : undefined
}

function datesOf(said: Said, refuse: Refuse): string {
  const { dates = { dates: ['1'] }, times } = said
  if (said.days) throw refuse('say which one: the first monday of the month')
  if (said.except) throw refuse('say the days of the month')
  if (times !== undefined && times > 1 && said.dates?.dates?.length !== times)
    throw refuse('say on which days: on the 1st and 15th of the month')
  const impossible = dates.dates?.find((date) => Number(date) > 31 || Number(date) < 1)
  if (impossible !== undefined) throw refuse('a month has 31 days at most')
  const months = quartersOf(said) ?? '*'
  return dates.nth ? `* ${months} ${dates.nth.join()}` : `${dates.dates?.join()} ${months} *`
}

function dateOfYear({ birthday, days, dates }: Said, refuse: Refuse): string {
  if (!birthday || days || dates) throw refuse('say on which day: every year on 5 May')
  const { date, month } = birthday
  // 2024 is a leap year, so it has every date.
  if (date > new Date(Date.UTC(2024, month, 0)).getUTCDate()) throw refuse('there is no such day')
  return `${date} ${month} *`
}

function yearly(count: number): { step?: string } {
  return count > 1 ? { step: `${count * 12} months` } : {}
}

/** A cron for times on days: one expression per distinct minute of the hour. */
function cronOf(at: readonly number[], days: string): string {
  const byMinute = Map.groupBy(at, (minute) => minute % 60)
  return [...byMinute]
    .map(([minute, all]) => `${minute} ${all.map((each) => Math.floor(each / 60)).join()} ${days}`)
    .join(' | ')
}
