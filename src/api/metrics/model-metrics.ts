import type { Makers } from './makers.ts'

/** Usage and cost of models, and the runs that wait for a budget. */
export function createModelMetrics({ counter }: Makers) {
  const overBudget = counter('model_budget_refused_total', 'Runs of models that wait for a budget.', 'budget')
  const tokens = counter('model_tokens_total', 'Tokens that models used.', 'model', 'direction')
  const cost = counter('model_cost_total', 'What models cost, by `prices`, in their currency.', 'model')
  return {
    tokens(model: string, input: number, output: number) {
      tokens.inc({ model, direction: 'input' }, input)
      tokens.inc({ model, direction: 'output' }, output)
    },
    cost: (model: string, money: number) => cost.inc({ model }, money),
    overBudget: (budget: string) => overBudget.inc({ budget }),
  }
}
