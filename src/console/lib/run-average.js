import { invoke } from './api.js'
import { amountIn } from './budget-amount.js'
import { money, tokens } from './money.js'

/** What an ended run that used a model cost on average, with all of its steps. */
export function runAverage({ runs, inputTokens, outputTokens, money: spent }, currency) {
  return spent === undefined
    ? `${tokens(Math.round((inputTokens + outputTokens) / runs))} tokens`
    : money(spent / runs, currency)
}

/**
 * What a run of a skill costs, and what is left for it: `about 0.011 EUR; 0.023 EUR of its budget are
 * left`. Undefined if it used no model in the last week, or if that cannot be read.
 */
export async function runCostText(skill) {
  const asked = { by: 'skill', since: '7d' }
  const { rows = [], budgets = [], currency } = await invoke('cost', asked).catch(() => ({}))
  const { runCost } = rows.find(({ name }) => name === skill) ?? {}
  if (!runCost) return undefined
  const own = budgets.find((budget) => budget.skill === skill)
  const budget = own ?? budgets.find((one) => one.budget === 'total')
  const left = budget
    ? `; ${amountIn(budget, budget.left)} of ${own ? 'its budget' : 'the budget of all'} left`
    : ''
  return `about ${runAverage(runCost, currency)}${left}`
}
