import type { PauseRecord } from '../../core/pause-record.ts'
import { MAX_COUNT, plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { defined } from '../../lib/defined.ts'

/**
 * What a pause costs a schedule. `skipped`: planned times since its start. `toSkip`: those until
 * its end; absent without an end. Both are counted up to 1000; `skippedMore` and `isMore` say that
 * there are more. `nextSkipped`: the first of them; `nextRun`: the first time after the end (Unix ms).
 */
export function pauseCost(
  schedule: Schedule,
  { since, until }: Pick<PauseRecord, 'since' | 'until'>,
  now: number,
) {
  const { next, due } = plannedTimes(schedule)
  const first = next(now)
  const skipped = due(since, now)?.count ?? 0
  const past = { skipped, ...(skipped === MAX_COUNT && { skippedMore: true }) }
  if (until === undefined) return { ...past, ...defined({ nextSkipped: first }) }
  const toSkip = due(now, until)?.count ?? 0
  const nextSkipped = toSkip > 0 ? first : undefined
  const isMore = toSkip === MAX_COUNT || undefined
  return { ...past, toSkip, ...defined({ isMore, nextSkipped, nextRun: next(until) }) }
}
