import { Cron } from 'croner'
import type { Schedule } from '../../core/assistant-services.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'

/** When a schedule is due: pure arithmetic over Unix ms. */
export type PlannedTimes = {
  /** The first planned time after `time`. Undefined: never again. */
  next(time: number): number | undefined
  /** The last planned time at or before `time` and after `after`, and how many there were (at most 1000 counted). */
  due(after: number, time: number): { newest: number; count: number } | undefined
}

const MOST = 1000

/**
 * Throws `usage` for a cron expression or interval that cannot be read. In the night in which clocks go forward a time that does
 * not exist is due when it would have been over; in the other night each is due once.
 */
export function plannedTimes(
  schedule: Pick<Schedule, 'cron' | 'every' | 'timezone' | 'created'>,
): PlannedTimes {
  const { cron, every, timezone, created } = schedule
  if (every !== undefined && cron === undefined) return interval(every, Date.parse(created))
  if (cron === undefined || every !== undefined) {
    throw new TriviumError('usage', { details: 'A schedule takes either `cron` or `every`.' })
  }
  return fromCron(cron, timezone)
}

function interval(every: number, start: number): PlannedTimes {
  const countAt = (time: number) => Math.max(0, Math.floor((time - start) / every))
  return {
    next: (time) => start + (countAt(time) + 1) * every,
    due(after, time) {
      const count = countAt(time) - countAt(after)
      return count > 0 ? { newest: start + countAt(time) * every, count: Math.min(count, MOST) } : undefined
    },
  }
}

function fromCron(expression: string, timezone: string): PlannedTimes {
  let cron: Cron
  try {
    cron = new Cron(expression, { timezone, paused: true })
    cron.nextRun()
  } catch (error) {
    const details = `The schedule "${expression}" (${timezone}) cannot be read: ${reasonOf(error)}`
    throw new TriviumError('usage', { details }, { cause: error })
  }
  return {
    next: (time) => cron.nextRun(new Date(time))?.getTime(),
    due(after, time) {
      let newest = after
      for (let count = 0; count < MOST; count += 1) {
        const next = cron.nextRun(new Date(newest))?.getTime()
        if (next === undefined || next > time) return count > 0 ? { newest, count } : undefined
        newest = next
      }
      // Far behind: the newest is found from the other end.
      return { newest: cron.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? newest, count: MOST }
    },
  }
}
