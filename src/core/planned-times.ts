import { Cron } from 'croner'
import { hasRealDate } from '../lib/real-date.ts'
import { reasonOf, TriviumError } from './errors.ts'
import type { Schedule } from './schedule.ts'
import { createSteps } from './schedule-steps.ts'

type Times = Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone' | 'created'>

/** Due times are counted up to this number. */
const MAX_COUNT = 1000
/**
 * Maximum number of times of the cron expression that are tried, each in another unit of `step`. If
 * none of them counts, the schedule is never due.
 */
const MAX_TRIES = 1000

/**
 * Computes when a schedule is due, in Unix ms. Throws `usage` for an invalid schedule. A daily time
 * that a DST change skips is due right after the change; one that occurs twice is due once. An
 * hourly cron stays hourly.
 */
export function plannedTimes(schedule: Times) {
  const { next, last } = timesOf(schedule)
  return {
    /** The first time after `time`; undefined if there is none. */
    next,
    /** The last time at or before `time`; undefined if there is none. */
    last,
    /** The newest time in (`after`, `time`], and the number of times there (counted up to 1000). */
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

type CronTimes = {
  /** The first due time after a time. */
  next(time: number): number | undefined
  /** The last due time at or before a time. */
  last(time: number): number | undefined
}

function timesOf({ cron: expression, every, step, timezone, created }: Times): CronTimes {
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
  const times: CronTimes = {
    next: (time) => earliestOf(crons.map((cron) => cron.nextRun(new Date(time))?.getTime())),
    last: (time) => {
      const runs = crons.map((cron) => cron.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? 0)
      return Math.max(...runs) || undefined
    },
  }
  if (step === undefined) return times
  return onlySteps(times, createSteps(step, timezone, times.next(Date.parse(created)) ?? 0))
}

/** Leaves out times in days, weeks or months that `steps` does not include. */
function onlySteps(times: CronTimes, steps: ReturnType<typeof createSteps>): CronTimes {
  const find = (first: number | undefined, advance: (time: number) => number | undefined) => {
    let time = first
    for (let tries = 0; time !== undefined && !steps.includes(time); tries += 1) {
      if (tries === MAX_TRIES) return undefined
      time = advance(time)
    }
    return time
  }
  return {
    next: (from) => find(times.next(from), (time) => times.next(steps.nextBeginning(time) - 1)),
    last: (from) => find(times.last(from), (time) => times.last(steps.lastEnd(time))),
  }
}

function compile(expression: string, timezone: string): Cron {
  try {
    if (!hasRealDate(expression)) throw new RangeError('there is no such day')
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
