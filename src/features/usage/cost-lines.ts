import { byCodeUnits } from '../../lib/by-code-units.ts'
import { withoutRoundingErrors } from '../../lib/rounding.ts'
import type { Sum } from './cost-rows.ts'

/**
 * Summed usage with a name. `money` is absent if nothing in it has a price; `unpriced` counts
 * tokens without one.
 */
export type CostLine = { name: string } & Partial<Pick<Sum, 'money' | 'unpriced'>> &
  Pick<Sum, 'inputTokens' | 'outputTokens' | 'steps'>

export function lineOf(name: string, rows: readonly Sum[]): CostLine {
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

export function byName(a: CostLine, b: CostLine): number {
  return byCodeUnits(a.name, b.name)
}

/** The most expensive first; without prices, the one with the most tokens. */
export function byCost(a: CostLine, b: CostLine): number {
  return (b.money ?? 0) - (a.money ?? 0) || tokensOf(b) - tokensOf(a)
}

export function tokensOf({ inputTokens, outputTokens }: Pick<Sum, 'inputTokens' | 'outputTokens'>): number {
  return inputTokens + outputTokens
}
