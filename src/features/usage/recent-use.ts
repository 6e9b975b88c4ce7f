import type { RecentUse } from '../../core/budget.ts'
import { DAY, HOUR, MINUTE } from '../../core/units.ts'
import type { createCostLedger, DayRow } from './cost-ledger.ts'
import { spanOf } from './slots.ts'

/** How long (ms) what was read is used again: the forecasts of budgets are asked for often. */
const CACHE_FOR = MINUTE

/**
 * What was used in the last hour and day, in total or by one skill, to five minutes: the sums of
 * budgets with long windows are too coarse for that. Undefined if it cannot be read.
 */
export function createRecentUse(deps: {
  ledger: Pick<ReturnType<typeof createCostLedger>, 'rows'>
  now(): number
}) {
  const { ledger, now } = deps
  let known: { at: number; rows: Promise<DayRow[] | undefined> } | undefined
  const rowsOfDay = () => {
    if (known && now() - known.at < CACHE_FOR && now() >= known.at) return known
    const rows = ledger.rows(spanOf(now() - DAY, now(), now())).catch(() => undefined)
    known = { at: now(), rows }
    return known
  }
  return async (skill?: string): Promise<RecentUse | undefined> => {
    const { at, rows } = rowsOfDay()
    const all = await rows
    const own = all?.filter((row) => skill === undefined || row.skill === skill)
    return own && { hour: useSince(own, at - HOUR, at), day: useSince(own, at - DAY, at) }
  }
}

/** The usage in the slots from that of a time on. `ms`: the length of this span. */
function useSince(rows: readonly DayRow[], since: number, now: number): RecentUse['hour'] {
  const { from } = spanOf(since, now, now)
  const used = rows.filter(({ slot = '' }) => slot >= from)
  return {
    ms: now - Date.parse(from),
    tokens: used.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0),
    money: used.reduce((sum, row) => sum + row.money, 0),
  }
}
