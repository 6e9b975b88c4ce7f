import { moneyOfBudget } from '../../lib/budget-amount.ts'
import { tokens } from './money.js'

/** An amount in the unit of a budget: `0.025 EUR`, `12k tokens`. */
export function amountIn(budget, amount) {
  return `${budget.unit === 'tokens' ? tokens(amount) : moneyOfBudget(budget, amount)} ${budget.unit}`
}

/** The used part of a budget: `0.380 of 0.400 EUR`. */
export function usedOf(budget) {
  const { unit, used } = budget
  return `${unit === 'tokens' ? tokens(used) : moneyOfBudget(budget, used)} of ${amountIn(budget, budget.most)}`
}
