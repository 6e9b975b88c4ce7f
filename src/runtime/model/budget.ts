import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Amount, Budget, BudgetStanding, Prices } from '../../core/budget.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { identityOf, withoutTag } from '../../core/identity.ts'
import type { Json } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'

/** The usage of one model step. */
export type Spent = { model: string; inputTokens: number; outputTokens: number; money?: number }

export type Budgets = ReturnType<typeof createBudgets>

const [SPENT, OVER] = ['budget:', 'budget-over:']
/** Number of buckets of a sliding window, which may be too long by one bucket. */
const PARTS = 48
const MOST_LISTED = 100
const TOTAL = 'total'

/** Usage per bucket, by its start (Unix ms): tokens, and money. */
const spentSchema = z.record(z.string(), z.tuple([z.number(), z.number()]))
type SpentParts = z.infer<typeof spentSchema>

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
  const unpriced = new Set<string>()

  /** The budgets that apply to a call, and whose they are. */
  const held = (call: Call) => {
    const { sender = [], total = [] } = deps.budget() ?? {}
    const who = senderOf(call)
    return [
      ...(who === undefined ? [] : sender.map((amount) => ({ amount, who, budget: 'sender' as const }))),
      ...total.map((amount) => ({ amount, who: TOTAL, budget: 'total' as const })),
    ]
  }

  const partsOf = async (who: string, per: number) => {
    const entry = await kv.get(keyOf(who, per))
    return within(entry ? spentSchema.parse(entry.value) : {}, per, now())
  }

  /** A model without a price counts only in tokens. */
  const moneyOf = (spent: Spent): number | undefined => {
    const [{ model }, prices] = [spent, deps.prices()]
    const money = spent.money ?? moneyFor(prices, spent)
    if (money === undefined && Object.keys(prices).length > 0 && !unpriced.has(model) && unpriced.add(model))
      log.warn({ model }, 'the model has no price in `prices`: budgets in money do not see it')
    return money
  }

  return {
    /** Throws `budget_exhausted`, whose cause has `until` (Unix ms), if nothing is left for the sender or in total. */
    async require(call: Call): Promise<void> {
      for (const { amount, who, budget } of held(call)) {
        const until = goesOnAt(await partsOf(who, amount.per), amount)
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
      const [sender, money] = [senderOf(call) ?? whoCalled(call), price ?? 0]
      const used = deps.used(call, { ...spent, sender, ...defined({ money: price }) })
      const places = new Map(held(call).map(({ amount: { per }, who }) => [keyOf(who, per), per]))
      const add = ([key, per]: [string, number]) =>
        updateKv(kv, key, (current): { value: Json; ttl: number } => {
          const at = now()
          const part = partOf(per)
          const parts = within(spentSchema.parse(current ?? {}), per, at)
          const start = String(Math.floor(at / part) * part)
          const [before, paid] = parts[start] ?? [0, 0]
          return { value: { ...parts, [start]: [before + tokens, paid + money] }, ttl: per + part }
        })
      await Promise.all([used, ...[...places].map(add)]).catch((err) => {
        log.warn({ err, ...spent }, 'what a model used could not be counted')
      })
    },
    /** The usage of the budgets, for operators; `[]` without budgets. */
    async standing(): Promise<BudgetStanding[]> {
      const { sender = [], total = [] } = deps.budget() ?? {}
      const ofAll = total.map(async (amount): Promise<BudgetStanding> => {
        const parts = await partsOf(TOTAL, amount.per)
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
  // Also for work that the daemon does for them.
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

/** Operators and the daemon itself, in the usage list. */
function whoCalled({ caller: { kind, id } }: Call): string {
  return id === undefined ? kind : `${kind} ${id}`
}

/** Whole ms, as stores count in those. */
function partOf(per: number): number {
  return Math.ceil(per / PARTS)
}

function keyOf(who: string, per: number): string {
  return `${SPENT}${per}:${hash('sha256', who).slice(0, 32)}`
}

/** The buckets that are still in the window. */
function within(parts: SpentParts, per: number, now: number): SpentParts {
  return Object.fromEntries(
    Object.entries(parts).filter(([start]) => Number(start) + per + partOf(per) > now),
  )
}

function sumOf(parts: SpentParts, { unit }: Amount): number {
  return Object.values(parts).reduce((sum, [tokens, money]) => sum + (unit === 'tokens' ? tokens : money), 0)
}

/** When enough usage has left the window; undefined if something is left now. */
function goesOnAt(parts: SpentParts, amount: Amount): number | undefined {
  let left = sumOf(parts, amount)
  let until: number | undefined
  for (const [start, spent] of Object.entries(parts).sort(([a], [b]) => Number(a) - Number(b))) {
    if (left < amount.most) return until
    left -= sumOf({ [start]: spent }, amount)
    until = Number(start) + amount.per + partOf(amount.per)
  }
  return left < amount.most ? until : Number.POSITIVE_INFINITY
}
