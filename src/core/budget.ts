/**
 * The limit `most` within a sliding window of `per` ms. `unit`: `tokens` (input plus output), or a currency. `text`: the limit as
 * configured.
 */
export type Amount = { most: number; unit: string; per: number; text: string }

/** Budgets for models, per sender and in total; several amounts all apply. */
export type Budget = { sender: Amount[]; total: Amount[] }

/** Price of a million tokens by `provider:model`, or a glob over it, in the currency of the budgets. The first match counts. */
export type Prices = Record<string, { input: number; output: number }>

/**
 * For operators: the state of a total budget, or the senders who used up theirs. `until`: when it is available again (Unix ms); absent
 * while something is left.
 */
export type BudgetStatus =
  | { budget: 'total'; limit: string; unit: string; used: number; most: number; until?: number }
  | { budget: 'sender'; limit: string; over: { sender: string; until: number }[] }

/** The currency of `prices`: `currency` if set, else that of the budgets in money. */
export function currencyOf(model?: { currency?: string; budget?: Budget }): string | undefined {
  const amounts = [...(model?.budget?.sender ?? []), ...(model?.budget?.total ?? [])]
  return model?.currency ?? amounts.find(({ unit }) => unit !== 'tokens')?.unit
}
