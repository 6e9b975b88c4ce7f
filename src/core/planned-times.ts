import { Cron } from 'croner'
import { reasonOf, TriviumError } from './errors.ts'
import type { Schedule } from './schedule.ts'

type Times = Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone' | 'created'>

const MOST = 1000

/**
 * Computes when a schedule is due, in Unix ms. Throws `usage` for an invalid schedule. A local time that a DST change skips is due
 * right after the change; one that occurs twice is due once.
 */
export function plannedTimes(schedule: Times) {
  const { next, last } = timesOf(schedule)
  return {
    /** The first time after `time`; undefined if there is none. */
    next,
    /** The newest time in (`after`, `time`], and the number of times in it (counted up to 1000). */
    due(after: number, time: number): { newest: number; count: number } | undefined {
      let newest = after
      for (let count = 0; count < MOST; count += 1) {
        const at = next(newest)
        if (at === undefined || at > time) return count > 0 ? { newest, count } : undefined
        newest = at
      }
      // Far behind: find the newest from the other end.
      return { newest: last(time) ?? newest, count: MOST }
    },
  }
}

/** Functions for the first time after a given time, and the last one before it. */
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
    next: (time: number) => leastOf(crons.map((cron) => cron.nextRun(new Date(time))?.getTime())),
    last: (time: number) => {
      const found = crons.map((cron) => cron.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? 0)
      return Math.max(...found) || undefined
    },
  }
  if (step === undefined) return times
  const counts = stepOf(step, timezone, times.next(Date.parse(created)) ?? 0)
  const search = (first: number | undefined, move: (time: number) => number | undefined) => {
    let found = first
    for (let tries = 0; found !== undefined && !counts(found); tries += 1) {
      if (tries > MOST_TRIES) return undefined
      found = move(found)
    }
    return found
  }
  return {
    next: (time: number) => search(times.next(time), times.next),
    last: (time: number) => search(times.last(time), (before) => times.last(before - 1)),
  }
}

const MOST_TRIES = 20_000

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

function leastOf(times: readonly (number | undefined)[]): number | undefined {
  const found = times.filter((time) => time !== undefined)
  return found.length > 0 ? Math.min(...found) : undefined
}

/** For `2 weeks`: whether a time is in every second week, counted from the week of `first`. Weeks start on Monday. */
function stepOf(step: string, timezone: string, first: number): (time: number) => boolean {
  const [, count = '1', unit = 'days'] = /^(\d+) (days|weeks|months)$/.exec(step) ?? []
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  })
  const indexOf = (time: number) => {
    const at = Object.fromEntries(parts.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1 } = at
    if (unit === 'months') return year * 12 + month
    const days = Date.UTC(year, month - 1, day) / 86_400_000
    // 1 January 1970 was a Thursday.
    return unit === 'days' ? days : Math.floor((days + 3) / 7)
  }
  const begin = indexOf(first)
  return (time) => (indexOf(time) - begin) % Number(count) === 0
}
