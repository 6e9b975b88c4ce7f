import { money, tokens } from './money.js'

/** An amount in the unit of a budget: `0.025 EUR`, `12k tokens`. */
export function amountIn({ unit }, amount) {
  return unit === 'tokens' ? `${tokens(amount)} tokens` : money(amount, unit)
}
