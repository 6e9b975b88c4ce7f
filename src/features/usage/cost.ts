import type { z } from 'zod'
import type { BudgetStanding } from '../../core/budget.ts'
import { defined } from '../../lib/defined.ts'
import { type createCostLedger, exact, KEPT, type Sum } from './cost-ledger.ts'
import { DAY } from './day.ts'
import type * as operations from './operations.ts'
import { spanOf } from './slots.ts'

/**
 * One row of `cost`. `money` is absent if nothing in it has a price; `unpriced` counts tokens
 * without one.
 */
export type CostRow = { name: string } & Partial<Pick<Sum, 'money' | 'unpriced'>> &
  Pick<Sum, 'inputTokens' | 'outputTokens' | 'steps'>

const WEEK = 7 * DAY
/** Maximum rows of a result; the total includes the rest. */
const MOST = 500

export function createCost(deps: {
  ledger: Pick<ReturnType<typeof createCostLedger>, 'rows'>
  /** The currency code of `prices`, if known. */
  currency(): string | undefined
  budgets(): Promise<BudgetStanding[]>
  now(): number
}) {
  const { ledger, now } = deps
  return async ({
    by,
    since = now() - WEEK,
    until = now(),
    ...only
  }: z.infer<typeof operations.usage.cost>) => {
    const span = spanOf(Math.max(since, now() - KEPT), until, now())
    const all = await ledger.rows(span)
    const rows = all.filter((row) =>
      (['model', 'skill', 'sender'] as const).every(
        (key) => only[key] === undefined || row[key] === only[key],
      ),
    )
    const sums = Map.groupBy(rows, (row) => row[by])
    const lines = [...sums].map(([name, of]) => lineOf(name, of))
    const sorted =
      by === 'day'
        ? lines.sort((a, b) => a.name.localeCompare(b.name))
        : lines.sort((a, b) => (b.money ?? 0) - (a.money ?? 0) || tokensOf(b) - tokensOf(a))
    return {
      by,
      from: span.from,
      to: span.to,
      ...defined({ currency: deps.currency() }),
      total: lineOf('total', rows),
      rows: sorted.slice(0, MOST),
      budgets: await deps.budgets(),
    }
  }
}

function tokensOf({ inputTokens, outputTokens }: CostRow): number {
  return inputTokens + outputTokens
}

function lineOf(name: string, rows: readonly Sum[]): CostRow {
  const add = (key: keyof Sum) => rows.reduce((total, row) => total + row[key], 0)
  const [inputTokens, outputTokens, unpriced] = [add('inputTokens'), add('outputTokens'), add('unpriced')]
  const isPriced = unpriced < inputTokens + outputTokens
  return {
    name,
    inputTokens,
    outputTokens,
    steps: add('steps'),
    ...(isPriced && { money: exact(add('money')) }),
    ...(unpriced > 0 && { unpriced }),
  }
}
