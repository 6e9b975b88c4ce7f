import { Cron } from 'croner'
import { reasonOf, TriviumError } from './errors.ts'
import type { Schedule } from './schedule.ts'
import { DAY } from './units.ts'

type Times = Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone' | 'created'>

/** Due times are counted up to this number. */
const MAX_COUNT = 1000
/** Maximum times of the cron expression that are tried to find one that `step` allows. */
const MAX_TRIES = 20_000

/**
 * Computes when a schedule is due, in Unix ms. Throws `usage` for an invalid schedule. A local time
 * that a DST change skips is due right after the change; one that occurs twice is due once.
 */
export function plannedTimes(schedule: Times) {
  const { next, last } = timesOf(schedule)
  return {
    /** The first time after `time`; undefined if there is none. */
    next,
    /** The newest time in (`after`, `time`], and the number of times in it (counted up to 1000). */
    due(after: number, time: number): { newest: number; count: number } | undefined {
      let newest = after
      for (let count = 0; count < MAX_COUNT; count += 1) {
        const at = next(newest)
        if (at === undefined || at > time) return count > 0 ? { newest, count } : undefined
        newest = at
      }
      // Far behind: find the newest from the other end.
      return { newest: last(time) ?? newest, count: MAX_COUNT }
    },
  }
}

/** Functions for the first due time after a time, and the last one at or before it. */
function timesOf({ cron: expression, every, step, timezone, created }: Times) {
  if (step !== undefined && expression === undefined)
    throw new TriviumError('usage', { details: '`step` requires `cron`.' })
  if (every !== undefined && expression === undefined) {
    const start = Date.parse(created)
    const last = (time: number) => start + Math.floor((time - start) / every) * every
    return { last, next: (time: number) => last(time) + every }
  }
  if (expression === undefined || every !== undefined) {
    throw new TriviumError('usage', { details: 'A schedule takes exactly one of `cron`, `every` and `at`.' })
  }
  const crons = expression.split(' | ').map((one) => compile(one, timezone))
  const times = {
    next: (time: number) => earliestOf(crons.map((cron) => cron.nextRun(new Date(time))?.getTime())),
    last: (time: number) => {
      const runs = crons.map((cron) => cron.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? 0)
      return Math.max(...runs) || undefined
    },
  }
  if (step === undefined) return times
  const isOnStep = createStepTest(step, timezone, times.next(Date.parse(created)) ?? 0)
  const findOnStep = (first: number | undefined, advance: (time: number) => number | undefined) => {
    let time = first
    for (let tries = 0; time !== undefined && !isOnStep(time); tries += 1) {
      if (tries > MAX_TRIES) return undefined
      time = advance(time)
    }
    return time
  }
  return {
    next: (time: number) => findOnStep(times.next(time), times.next),
    last: (time: number) => findOnStep(times.last(time), (later) => times.last(later - 1)),
  }
}

function compile(expression: string, timezone: string): Cron {
  try {
    const cron = new Cron(expression, { timezone, paused: true })
    cron.nextRun()
    return cron
  } catch (error) {
    const details = `The schedule "${expression}" (${timezone}) is invalid: ${reasonOf(error)}`
    throw new TriviumError('usage', { details }, { cause: error })
  }
}

function earliestOf(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.min(...known) : undefined
}

/**
 * For `2 weeks`: tests whether a time is in every second week, counted from the week of `first`.
 * Weeks start on Monday.
 */
function createStepTest(step: string, timezone: string, first: number): (time: number) => boolean {
  const [, count = '1', unit = 'days'] = /^(\d+) (days|weeks|months)$/.exec(step) ?? []
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  })
  /** The number of the day, week or month of a time, counted from a fixed date. */
  const unitNumber = (time: number) => {
    const at = Object.fromEntries(parts.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1 } = at
    if (unit === 'months') return year * 12 + month
    const days = Date.UTC(year, month - 1, day) / DAY
    // 1 January 1970 was a Thursday.
    return unit === 'days' ? days : Math.floor((days + 3) / 7)
  }
  const start = unitNumber(first)
  return (time) => (unitNumber(time) - start) % Number(count) === 0
}
