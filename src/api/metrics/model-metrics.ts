import type { Makers } from './makers.ts'

/** Usage and cost of models, and the runs that a budget refused. */
export function createModelMetrics({ counter }: Makers) {
  const overBudget = counter(
    'model_budget_refused_total',
    'Model runs that were refused because a budget was used up; a run that waits counts once.',
    'budget',
  )
  const tokens = counter('model_tokens_total', 'Tokens used by models.', 'model', 'direction')
  const cost = counter('model_cost_total', 'Cost of models according to `prices`, in its currency.', 'model')
  return {
    tokens(model: string, input: number, output: number) {
      tokens.inc({ model, direction: 'input' }, input)
      tokens.inc({ model, direction: 'output' }, output)
    },
    cost: (model: string, money: number) => cost.inc({ model }, money),
    overBudget: (budget: string) => overBudget.inc({ budget }),
  }
}
