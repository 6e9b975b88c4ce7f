import { moneyText } from './money-text.ts'

/** A part of a budget without its unit: `0.44`, `21,088`. */
function budgetNumber({ unit }: { unit?: unknown }, amount: unknown): string {
  return unit === 'tokens' ? Number(amount).toLocaleString('en') : moneyText(Number(amount))
}

/** A part of a budget: `0.44 EUR`, `21,088 tokens`. */
export function budgetAmount(budget: { unit?: unknown }, amount: unknown): string {
  return `${budgetNumber(budget, amount)} ${budget.unit}`
}

/** The used part of a budget: `0.44 of 0.40 EUR`. */
export function usedOfBudget(budget: { unit?: unknown; used?: unknown; most?: unknown }): string {
  return `${budgetNumber(budget, budget.used)} of ${budgetAmount(budget, budget.most)}`
}
