import { moneyText } from './money-text.ts'

type Budget = { readonly unit?: unknown; readonly used?: unknown; readonly most?: unknown }

/**
 * Money of a budget without its currency. All amounts of a budget have as many decimals as its limit
 * needs, so that their sum is right: `0.380` and `0.020` of `0.400`. Less than that, or money of an
 * unknown limit, has its own.
 */
export function moneyOfBudget({ most }: Pick<Budget, 'most'>, money: number): string {
  if (typeof most !== 'number' || most <= 0) return moneyText(money)
  const digits = digitsOf(most)
  if (money > 0 && Number(money.toFixed(digits)) === 0) return moneyText(money)
  return money.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

const digitsOf = (most: number) => Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(most))))

/** What is left of a budget, so that it and the shown used part add up to the limit. */
export function leftOfBudget({ unit, used, most, left }: Budget & { readonly left?: unknown }): number {
  const rest = Number(left)
  if (unit === 'tokens' || typeof most !== 'number' || typeof used !== 'number' || rest <= 0) return rest
  return most - Number(used.toFixed(digitsOf(most))) || rest
}

/** A part of a budget without its unit: `0.44`, `21,088`. */
function budgetNumber(budget: Budget, amount: unknown): string {
  return budget.unit === 'tokens'
    ? Number(amount).toLocaleString('en')
    : moneyOfBudget(budget, Number(amount))
}

/** A part of a budget: `0.44 EUR`, `21,088 tokens`. */
export function budgetAmount(budget: Budget, amount: unknown): string {
  return `${budgetNumber(budget, amount)} ${budget.unit}`
}

/** The used part of a budget: `0.440 of 0.400 EUR`. */
export function usedOfBudget(budget: Budget): string {
  return `${budgetNumber(budget, budget.used)} of ${budgetAmount(budget, budget.most)}`
}
