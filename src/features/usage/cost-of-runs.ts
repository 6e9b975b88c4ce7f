import type { z } from 'zod'
import { DAY, MINUTE } from '../../core/units.ts'
import type { CostRow, createCost } from './cost.ts'
import type * as operations from './operations.ts'
import { shownCost } from './run-costs.ts'
import type { createRunLogs } from './run-log.ts'
import { countsIn, type RunReader, sumOf } from './skill-usage.ts'
import { spanOf } from './slots.ts'

/** How long (ms) runs are counted, with tolerance for the time since an age was asked for. */
const KNOWN_FOR = 7 * DAY + MINUTE

type Asked = z.infer<typeof operations.usage.cost>

/**
 * `cost` whose rows by skill have the number of `runs` that ended in the same time, and `runCost` of
 * those that used a model, as far as they are counted. Runs are not counted by model, sender or
 * gateway.
 */
export function withRuns(deps: {
  cost: ReturnType<typeof createCost>
  runs: RunReader & Pick<ReturnType<typeof createRunLogs>, 'flush'>
  now(): number
}) {
  const { cost, runs, now } = deps
  const isCounted = ({ by, since = now() - 7 * DAY, model, sender, gateway }: Asked) => {
    const isFiltered = [model, sender, gateway].some((filter) => filter !== undefined)
    return by === 'skill' && !isFiltered && since >= now() - KNOWN_FOR
  }
  return async (asked: Asked) => {
    const found = await cost(asked)
    const { since = now() - 7 * DAY, until = now() } = asked
    const span = spanOf(since, until, now())
    // The cost of two days is known to five minutes, but their runs only by day.
    if (!isCounted(asked) || span.from !== found.from) return found
    await runs.flush()
    const counted = await countsIn(runs, span)
    const runsOf = (name: string) => {
      const counts = counted.get(name)
      if (!counts) return {}
      const { runs, cost } = sumOf(counts)
      return { runs, ...(cost && { runCost: { runs: cost.runs, ...shownCost(cost) } }) }
    }
    return { ...found, rows: found.rows.map((row): CostRow => ({ ...row, ...runsOf(row.name) })) }
  }
}
