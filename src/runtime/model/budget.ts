import type { Budget, BudgetStanding, Prices } from '../../core/budget.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { identityOf, withoutTag } from '../../core/identity.ts'
import type { Log } from '../../core/log.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { createSlidingSums, goesOnAt, sumOf } from './sliding-sums.ts'

/** The usage of one model step. */
export type Spent = { model: string; inputTokens: number; outputTokens: number; money?: number }

export type Budgets = ReturnType<typeof createBudgets>

const OVER = 'budget-over:'
const MOST_LISTED = 100
const TOTAL = 'total'

/**
 * Budgets of models, counted in the store for all daemons. A run may start while something is left. Its usage
 * is counted step by step, so concurrent runs can together exceed the budget.
 */
export function createBudgets(deps: {
  kv: KeyValues
  /** The current configuration. */
  budget(): Budget | undefined
  prices(): Prices
  /** Called for each refused run. */
  refused(budget: 'sender' | 'total'): void
  /** Called for each step with its usage, caller and cost; undefined for a model without a price. */
  used(call: Call, spent: Spent & { sender: string; money?: number }): Promise<void>
  log: Log
  now(): number
}) {
  const { kv, log, now } = deps
  const sums = createSlidingSums(kv, now)
  const unpriced = new Set<string>()

  /** The budgets that apply to a call, with their owners. */
  const held = (call: Call) => {
    const { sender = [], total = [] } = deps.budget() ?? {}
    const who = senderOf(call)
    return [
      ...(who === undefined ? [] : sender.map((amount) => ({ amount, who, budget: 'sender' as const }))),
      ...total.map((amount) => ({ amount, who: TOTAL, budget: 'total' as const })),
    ]
  }

  /** A model without a price counts only in tokens. */
  const moneyOf = (spent: Spent): number | undefined => {
    const [{ model }, prices] = [spent, deps.prices()]
    const money = spent.money ?? moneyFor(prices, spent)
    if (money === undefined && Object.keys(prices).length > 0 && !unpriced.has(model) && unpriced.add(model))
      log.warn({ model }, 'the model has no price in `prices`: budgets in money do not count it')
    return money
  }

  return {
    /** Throws `budget_exhausted`, whose cause has `until` (Unix ms), if nothing is left for the sender or in total. */
    async require(call: Call): Promise<void> {
      for (const { amount, who, budget } of held(call)) {
        const until = goesOnAt(await sums.read(who, amount.per), amount)
        if (until === undefined) continue
        deps.refused(budget)
        if (budget === 'sender') await kv.set(OVER + who, until, { ttl: Math.max(1, until - now()) })
        const whose = budget === 'sender' ? 'for each sender' : 'for all'
        const at = `${new Date(Math.ceil(until / 60_000) * 60_000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
        throw new TriviumError('budget_exhausted', { limit: amount.text, whose, at }, { cause: { until } })
      }
    },
    /** Counts the usage of a model step. Never throws, because the step is already paid for. */
    async spend(call: Call, spent: Spent): Promise<void> {
      const [tokens, price] = [spent.inputTokens + spent.outputTokens, moneyOf(spent)]
      const sender = senderOf(call) ?? whoCalled(call)
      const used = deps.used(call, { ...spent, sender, ...defined({ money: price }) })
      const places = held(call).map(({ amount: { per }, who }) => ({ who, per }))
      await Promise.all([used, sums.add(places, { tokens, money: price ?? 0 })]).catch((err) => {
        log.warn({ err, ...spent }, 'the usage of a model could not be counted')
      })
    },
    /** The usage of the budgets, for operators; `[]` without budgets. */
    async standing(): Promise<BudgetStanding[]> {
      const { sender = [], total = [] } = deps.budget() ?? {}
      const ofAll = total.map(async (amount): Promise<BudgetStanding> => {
        const parts = await sums.read(TOTAL, amount.per)
        const until = goesOnAt(parts, amount)
        const { text: limit, unit, most } = amount
        const used = Number(sumOf(parts, amount).toFixed(4))
        return { budget: 'total', limit, unit, used, most, ...(until === undefined ? {} : { until }) }
      })
      if (sender.length === 0) return Promise.all(ofAll)
      const keys = await kv.list(OVER, MOST_LISTED)
      const over = keys.map(async (key) => {
        const until = Number((await kv.get(key))?.value ?? 0)
        return { sender: key.slice(OVER.length), until }
      })
      const limit = sender.map(({ text }) => text).join(', ')
      return [...(await Promise.all(ofAll)), { budget: 'sender', limit, over: await Promise.all(over) }]
    },
  }
}

/**
 * Who pays: the verified sender of a message, or a program with a token. Unverified senders of a gateway
 * share one budget, because they can change their name. Operators count only towards the total.
 */
function senderOf({ caller, message }: Call): string | undefined {
  // Also for work that the daemon does on behalf of a sender.
  if (message) {
    return withoutTag(identityOf(message) ?? `${message.gateway}/unverified`)
  }
  if (caller.kind === 'route') return caller.id && withoutTag(caller.id)
  return caller.skills ? `${caller.kind} ${caller.id}` : undefined
}

/** Undefined if no price matches the model. */
function moneyFor(prices: Prices, { model, inputTokens, outputTokens }: Spent): number | undefined {
  const [, price] = Object.entries(prices).find(([pattern]) => compilePattern(pattern).test(model)) ?? []
  return price && (inputTokens * price.input + outputTokens * price.output) / 1e6
}

/** The name of operators and of the daemon itself in the usage list. */
function whoCalled({ caller: { kind, id } }: Call): string {
  return id === undefined ? kind : `${kind} ${id}`
}
