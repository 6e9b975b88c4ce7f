import type { PauseRecord } from '../../core/pause-record.ts'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { defined } from '../../lib/defined.ts'
import { putLast } from '../../lib/put-last.ts'

/** Planned times are counted up to this number: each takes up to half a millisecond. */
const MAX_SKIPPED = 100
/** Maximum number of pauses whose cost is remembered. */
const MAX_REMEMBERED = 1_000

type Pause = Pick<PauseRecord, 'since' | 'until'>
/** `from` and `to` (Unix ms): from when on, and until when, the cost stays the same. */
type Known = { cost: ReturnType<typeof pauseCost>; from: number; to: number }

/**
 * Returns `pauseCost` with a memory: the cost of a pause only changes at a planned time, but lists of
 * schedules are read every few seconds.
 */
export function createPauseCosts(cost = pauseCost) {
  const known = new Map<string, Known>()
  return (schedule: Schedule, pause: Pause, now: number) => {
    const { id, created, cron, every, step, timezone } = schedule
    const key = JSON.stringify([id, created, cron, every, step, timezone, pause.since, pause.until])
    const found = known.get(key)
    if (found && now >= found.from && now < found.to) return found.cost
    const to = plannedTimes(schedule).next(now) ?? Number.POSITIVE_INFINITY
    const fresh = { cost: cost(schedule, pause, now), from: now, to }
    putLast(known, key, fresh, MAX_REMEMBERED)
    return fresh.cost
  }
}

/**
 * What a pause costs a schedule. `skipped`: planned times since its start. `toSkip`: those until
 * its end; absent without an end. Both are counted up to 100; `skippedMore` and `isMore` say that
 * there are more. `nextSkipped`: the first of them; `nextRun`: the first time after the end (Unix ms).
 */
export function pauseCost(schedule: Schedule, { since, until }: Pause, now: number) {
  const { next } = plannedTimes(schedule)
  const past = countIn(next, since, now)
  const sofar = { skipped: past.count, ...(past.isMore && { skippedMore: true }) }
  const first = next(now)
  if (until === undefined) return { ...sofar, ...defined({ nextSkipped: first }) }
  const { count: toSkip, isMore } = countIn(next, now, until)
  const nextSkipped = toSkip > 0 ? first : undefined
  return {
    ...sofar,
    toSkip,
    ...defined({ isMore: isMore || undefined, nextSkipped, nextRun: next(until) }),
  }
}

/** The number of planned times in (`after`, `until`], and whether there are more than are counted. */
function countIn(next: (time: number) => number | undefined, after: number, until: number) {
  let at = next(after)
  for (let count = 0; count < MAX_SKIPPED; count++) {
    if (at === undefined || at > until) return { count, isMore: false }
    at = next(at)
  }
  return { count: MAX_SKIPPED, isMore: at !== undefined && at <= until }
}
