import type { Call } from './call.ts'

/** A limit within a sliding window. */
export type Amount = {
  most: number
  /** `tokens` (input plus output), or a currency. */
  unit: string
  /** Length of the window (ms). */
  per: number
  /** The limit as configured. */
  text: string
}

/**
 * Budgets for models: for each sender, in total, and by the name of a skill. All amounts of a list
 * apply.
 */
export type Budget = { sender: Amount[]; total: Amount[]; skill: Record<string, Amount[]> }

/**
 * Price of a million tokens by `provider:model`, or a glob over it, in the currency that
 * `currencyOf` returns. The first match counts.
 */
export type Prices = Record<string, { input: number; output: number }>

/** The state of a budget, for operators. */
export type BudgetStatus =
  | ({ budget: 'total' } & BudgetUse)
  | ({ budget: 'skill'; skill: string } & BudgetUse)
  /**
   * `over`: up to 100 senders who used up their budgets. `more`: there are others. `fullest`: of
   * the senders that the caller names, those who have used the largest share.
   */
  | {
      budget: 'sender'
      limit: string
      over: { sender: string; until: number }[]
      more?: true
      fullest?: ({ sender: string } & BudgetUse)[]
    }

export type BudgetUse = {
  limit: string
  unit: string
  used: number
  most: number
  /** What may still be used. */
  left: number
  /** When something is left again (Unix ms); absent while something is left. */
  until?: number
  /** When all of `used` has left the sliding window (Unix ms); absent if nothing is used. */
  resetsAt?: number
  /** When the oldest part of `used` leaves the window (Unix ms), and how much it is. */
  nextFree?: { at: number; amount: number }
  /** What is left pays for about this many runs; absent if the cost of a run is unknown. */
  paysFor?: number
  /** When the budget will be used up at `rate` (Unix ms, rounded); absent if the budget lasts. */
  usedUpAt?: number
  /** The rate of usage: of the newest quarter of the window, or of the last day if it is faster. */
  rate?: BudgetRate
  /** The same forecast at the rate of the last hour, if the budget ends clearly sooner at that. */
  lastHour?: { usedUpAt: number; rate: BudgetRate }
  /** Replaces the forecast while everything that recently used the budget is paused. */
  paused?: PausedUse
}

/** A pause as budgets name it. `until`: when it ends by itself (Unix ms). */
export type NamedPause = { kind: string; name: string; by: string; reason?: string; until?: number }

/** The pauses that keep a budget from being used. */
export type PausedUse = {
  by: NamedPause[]
  /** When the first of them ends by itself (Unix ms), so that the budget is used again. */
  until?: number
  /** Number of messages that wait for their end, up to 1,000. */
  waiting: number
  /** What the waiting messages use if the pauses end now. */
  expected?: ExpectedUse
  /** The same at `until`, and what is left then. Earlier usage leaves the window until then. */
  atEnd?: ExpectedUse & { left: number }
  /** The rate of usage before the pauses, if the budget would not have lasted. */
  rate?: BudgetRate
}

/**
 * How many messages run before a budget is used up, and what these runs use, in its unit. Runs that
 * begin together are not limited by what is left. `until`: when the budget is available again (Unix
 * ms), if these runs use it up.
 */
export type ExpectedUse = { runs: number; amount: number; until?: number }

/** `amount` in the unit of the budget. `measured`: the length (ms) of the newest time it is from. */
export type BudgetRate = { amount: number; per: 'hour' | 'day'; measured: number }

/** What was used in a span of `ms`. */
type Use = { ms: number; tokens: number; money: number }
/** What was used in the last hour and in the last day. */
export type RecentUse = { hour: Use; day: Use }

/** The usage of one model step. */
export type Spent = {
  model: string
  inputTokens: number
  outputTokens: number
  /** What it cost, if the caller knows it without `prices`. */
  money?: number
}

/** Budgets, as runs of models use them. */
export type Budgets = {
  /**
   * Throws `budget_exhausted` if nothing is left for the sender, the skill or in total. Its cause has
   * `of` (`sender`, `skill` or `total`) and `until` (Unix ms).
   */
  require(call: Call): Promise<void>
  /**
   * Counts the usage of a model step, and returns its cost, if the model has a price. Never throws:
   * the step is already paid for.
   */
  spend(call: Call, spent: Spent): Promise<number | undefined>
}

/** All amounts of a budget. */
export function amountsOf(budget: Budget | undefined): Amount[] {
  const { sender = [], total = [], skill = {} } = budget ?? {}
  return [...sender, ...total, ...Object.values(skill).flat()]
}

/** The currency of `prices`: `currency` if set, else that of the budgets in money. */
export function currencyOf(model?: { currency?: string; budget?: Budget }): string | undefined {
  return model?.currency ?? amountsOf(model?.budget).find(({ unit }) => unit !== 'tokens')?.unit
}
