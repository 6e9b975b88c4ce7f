import type { z } from 'zod'
import type { BudgetStatus } from '../../core/budget.ts'
import { DAY, HOUR } from '../../core/units.ts'
import { byCodeUnits } from '../../lib/by-code-units.ts'
import { defined } from '../../lib/defined.ts'
import { withoutRoundingErrors } from '../../lib/rounding.ts'
import type { createCostLedger, Sum } from './cost-ledger.ts'
import type * as operations from './operations.ts'
import { DAY_RETENTION, SLOT, type Span, slotOf, spanOf } from './slots.ts'

/**
 * One row of `cost`. `money` is absent if nothing in it has a price; `unpriced` counts tokens
 * without one.
 */
export type CostRow = { name: string } & Partial<Pick<Sum, 'money' | 'unpriced'>> &
  Pick<Sum, 'inputTokens' | 'outputTokens' | 'steps'>

const WEEK = 7 * DAY
/** Maximum number of rows in a result. The total includes all others. */
const MAX_ROWS = 500
/** The longest range (ms) that `by: time` shows in slots; up to a day it shows hours. */
const IN_SLOTS = 3 * HOUR

/** `cost`: tokens and cost of models, by model, skill, sender, day or time. */
export function createCost(deps: {
  ledger: Pick<ReturnType<typeof createCostLedger>, 'rows'>
  /** The currency code of `prices`, if known. */
  currency(): string | undefined
  /** The state of the budgets. `topSenders`: those who used most in the last `per` ms. */
  budgets(topSenders: (per: number) => Promise<readonly string[]>): Promise<BudgetStatus[]>
  now(): number
}) {
  const { ledger, now } = deps
  // Of the window of the budget, whatever range the result has.
  const topSendersIn = async (per: number) =>
    topSenders(await ledger.rows(spanOf(now() - Math.min(per, DAY_RETENTION), now(), now())))
  return async ({
    by,
    since = now() - WEEK,
    until = now(),
    ...only
  }: z.infer<typeof operations.usage.cost>) => {
    const span = spanOf(Math.max(since, now() - DAY_RETENTION), until, now())
    const all = await ledger.rows(span)
    const rows = all.filter((row) =>
      (['model', 'skill', 'sender'] as const).every(
        (key) => only[key] === undefined || row[key] === only[key],
      ),
    )
    const step = stepOf(span)
    const groups = Map.groupBy(rows, (row) => (by === 'time' ? startOf(row, step) : row[by]))
    const lines = [...groups].map(([name, group]) => lineOf(name, group))
    const sorted = lines.sort(by === 'day' || by === 'time' ? byName : byCost)
    return {
      by,
      ...(by === 'time' && { step }),
      from: span.from,
      to: span.to,
      ...defined({ currency: deps.currency() }),
      total: lineOf('total', rows),
      rows: sorted.slice(0, MAX_ROWS),
      budgets: await deps.budgets(topSendersIn),
    }
  }
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

function byName(a: CostRow, b: CostRow): number {
  return byCodeUnits(a.name, b.name)
}

/** Maximum number of senders whose budgets are in the result. */
const MAX_SENDERS = 30

/** The senders that used the most tokens. */
function topSenders(rows: readonly ({ sender: string } & Sum)[]): string[] {
  const tokens = new Map<string, number>()
  for (const row of rows) tokens.set(row.sender, (tokens.get(row.sender) ?? 0) + tokensOf(row))
  const sorted = [...tokens].sort(([, a], [, b]) => b - a)
  return sorted.slice(0, MAX_SENDERS).map(([sender]) => sender)
}

/** The most expensive first; without prices, the one with the most tokens. */
function byCost(a: CostRow, b: CostRow): number {
  return (b.money ?? 0) - (a.money ?? 0) || tokensOf(b) - tokensOf(a)
}

function tokensOf({ inputTokens, outputTokens }: Pick<Sum, 'inputTokens' | 'outputTokens'>): number {
  return inputTokens + outputTokens
}

function lineOf(name: string, rows: readonly Sum[]): CostRow {
  const add = (key: keyof Sum) => rows.reduce((total, row) => total + row[key], 0)
  const inputTokens = add('inputTokens')
  const outputTokens = add('outputTokens')
  const unpriced = add('unpriced')
  const isPriced = unpriced < inputTokens + outputTokens
  return {
    name,
    inputTokens,
    outputTokens,
    steps: add('steps'),
    ...(isPriced && { money: withoutRoundingErrors(add('money')) }),
    ...(unpriced > 0 && { unpriced }),
  }
}
