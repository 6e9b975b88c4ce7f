import type { z } from 'zod'
import type { BudgetStatus } from '../../core/budget.ts'
import { DAY, HOUR } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { ERASED } from '../../lib/erased.ts'
import { compare, hasSlotsOfTwoDays } from './cost-comparison.ts'
import { type CostKey, createSplit, KEYS, nameIn } from './cost-keys.ts'
import type { createCostLedger, DayRow } from './cost-ledger.ts'
import { byCost, byName, type CostLine, lineOf, tokensOf } from './cost-lines.ts'
import type { Sum } from './cost-rows.ts'
import type * as operations from './operations.ts'
import type { shownCost } from './run-costs.ts'
import { DAY_RETENTION, SLOT, type Span, slotOf, spanOf } from './slots.ts'

/** One row of `cost`. `parts`: only with `split`; `runs` and `runCost`: of a skill, see `withRuns`. */
export type CostRow = CostLine & {
  parts?: CostLine[]
  runs?: number
  runCost?: { runs: number } & ReturnType<typeof shownCost>
}

const WEEK = 7 * DAY
/** Maximum number of rows in a result. The total includes all others. */
const MAX_ROWS = 500
/** Usage of this age (ms) is known to five minutes. */
const EXACT_FOR = 2 * DAY
/** The longest range (ms) that `by: time` shows in slots; up to two days it shows hours. */
const IN_SLOTS = 3 * HOUR

/** `cost`: tokens and cost of models, by model, skill, sender, gateway, day or time. */
export function createCost(deps: {
  ledger: Pick<ReturnType<typeof createCostLedger>, 'rows'>
  /** The currency code of `prices`, if known. */
  currency(): string | undefined
  /** The state of the budgets. `topSenders`: those who used most in the last `per` ms. */
  budgets(topSenders: (per: number) => Promise<readonly string[]>): Promise<BudgetStatus[]>
  now(): number
}) {
  const { ledger, now } = deps
  const span = (since: number, until: number, exactFor = DAY) =>
    spanOf(Math.max(since, now() - DAY_RETENTION), until, now(), exactFor)
  /** How long (ms) slots are known. The longer time is only looked up if it matters. */
  const exactFor = async (since: number, isCompared: boolean) => {
    const needed = isCompared ? 2 * (now() - since) : now() - since
    const isNeeded = needed > DAY + SLOT && since >= now() - EXACT_FOR - SLOT
    return isNeeded && (await hasSlotsOfTwoDays(ledger.rows, now())) ? EXACT_FOR : DAY
  }
  // Of the window of the budget, whatever range the result has.
  const topSendersIn = async (per: number) => topSenders(await ledger.rows(span(now() - per, now())))
  return async (asked: z.infer<typeof operations.usage.cost>) => {
    const { by, split: splitBy, since = now() - WEEK, until = now(), compare: isCompared = false } = asked
    const exact = await exactFor(since, isCompared)
    const range = span(since, until, exact)
    const matches = matcherOf(asked)
    const rowsOf = async (part: Pick<Span, 'isExact' | 'names'>) => (await ledger.rows(part)).filter(matches)
    const rows = await rowsOf(range)
    const step = stepOf(range)
    const groups = Map.groupBy(rows, (row) => {
      if (by === 'time') return startOf(row, step)
      return by === 'day' ? row.day : nameIn(row, by)
    })
    const split = splitBy === undefined ? undefined : createSplit(rows, splitBy)
    const lines = [...groups].map(
      ([name, group]): CostRow => ({ ...lineOf(name, group), ...defined({ parts: split?.partsOf(group) }) }),
    )
    const sorted = lines.sort(by === 'day' || by === 'time' ? byName : byCost)
    const total = lineOf('total', rows)
    const compared = isCompared
      ? await compare({ span: range, total, rowsOf, now: now(), exactFor: exact })
      : undefined
    return {
      by,
      ...(by === 'time' && { step }),
      from: range.from,
      to: range.to,
      ...defined({ currency: deps.currency() }),
      total,
      ...defined({ compared, split: split && { by: splitBy, names: split.names } }),
      rows: sorted.slice(0, MAX_ROWS),
      budgets: await deps.budgets(topSendersIn),
    }
  }
}

/** Whether a row has all the wanted names. */
function matcherOf(wanted: { [Key in CostKey]?: string }) {
  return (row: DayRow) => KEYS.every((key) => wanted[key] === undefined || nameIn(row, key) === wanted[key])
}

/** The length (ms) of the steps of `by: time`. */
function stepOf({ isExact, names }: Span): number {
  if (!isExact) return DAY
  return names.length * SLOT <= IN_SLOTS + SLOT ? SLOT : HOUR
}

/** The name of the step in which a row is: its day, or its start such as `2026-11-28T09:05Z`. */
function startOf({ day, slot }: { day: string; slot?: string }, step: number): string {
  if (slot === undefined) return day
  return slotOf(Math.floor(Date.parse(slot) / step) * step)
}

/** Maximum number of senders whose budgets are in the result. */
const MAX_SENDERS = 30

/** The senders that used the most tokens. */
function topSenders(rows: readonly ({ sender: string } & Sum)[]): string[] {
  const tokens = new Map<string, number>()
  for (const row of rows.filter(({ sender }) => !sender.endsWith(ERASED)))
    tokens.set(row.sender, (tokens.get(row.sender) ?? 0) + tokensOf(row))
  const sorted = [...tokens].sort(([, a], [, b]) => b - a)
  return sorted.slice(0, MAX_SENDERS).map(([sender]) => sender)
}
