import { hash } from 'node:crypto'
import type {
  Amount,
  Budget,
  BudgetStatus,
  Budgets,
  BudgetUse,
  Prices,
  RecentUse,
  Spent,
} from '../../core/budget.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { identityOf, withoutTag } from '../../core/identity.ts'
import type { Log } from '../../core/log.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY, MINUTE } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { forecast } from './forecast.ts'
import { createSlidingSums } from './sliding-sums.ts'
import { availableAfter, availableAt, leftAt, nextFree, resetsAt, sumOf } from './sums.ts'

/** Prefix of the keys of senders who used up their budget. */
const OVER = 'budget-over:'
const MAX_LISTED = 100
/** Maximum number of senders that are listed with what they have left: those with the least. */
const MAX_FULLEST = 5
/** The owner of the budgets for all runs together. */
const TOTAL = 'total'
/** Prefix of the owners of the budgets of skills. */
const SKILL = 'skill '
/** Prefix of the keys that mark runs whose refusal was reported. */
const REFUSED = 'budget-refused:'
/**
 * How long (ms) such a key is kept after the budget is available again. The run may need longer:
 * others use up the budget first, or the run is paused.
 */
const REFUSED_MARGIN_MS = DAY
/** Prices are per million tokens. */
const TOKENS_PER_PRICE = 1e6

/** `skill`: the owner of a budget; by default it is that of all models. */
type NamedBudget = { skill?: string; limit: string }

/**
 * A shared budget at a time to come (Unix ms), if nothing is used until then. Resolve with undefined
 * if it is not configured any more.
 */
export type LaterBudgets = {
  /** What is left then, in its unit. */
  leftAt(budget: NamedBudget, at: number): Promise<number | undefined>
  /**
   * When it is available again (Unix ms) if `more` is used then, in its unit; undefined if that does
   * not use it up.
   */
  availableAfter(budget: NamedBudget, more: number, at: number): Promise<number | undefined>
}

/** The senders who used most in the last `per` ms. */
type TopSenders = (per: number) => Promise<readonly string[]>

/** The refusal of a call until `until` (Unix ms). */
function exhausted(
  call: Call,
  { amount, budget, until }: { amount: Amount; budget: BudgetStatus['budget']; until: number },
): TriviumError {
  const whose = { sender: 'for each sender', total: 'for all', skill: `for the skill ${call.skill}` }[budget]
  const message = { limit: amount.text, whose, at: formatMinute(until) }
  return new TriviumError('budget_exhausted', message, { cause: { until, of: budget } })
}

/**
 * Budgets of models, counted in the store for all daemons. A run may start while something is left.
 * Its usage is counted step by step, so concurrent runs can together exceed the budget.
 */
export function createBudgets(deps: {
  kv: KeyValues
  /** The current configuration. */
  budget(): Budget | undefined
  prices(): Prices
  /** Called once for each refused run, also if it checks its budget again and again. */
  refused(budget: BudgetStatus['budget']): void
  /** Called after each step of a model. `money` is absent if the model has no price. */
  used(call: Call, spent: Spent & { sender: string; money?: number }): Promise<void>
  /** What was used lately, in total or by one skill; undefined if that is not known. */
  recent?(skill?: string): Promise<RecentUse | undefined>
  log: Log
  now(): number
}): Budgets & { status(topSenders?: TopSenders): Promise<BudgetStatus[]>; later: LaterBudgets } {
  const { kv, log, now } = deps
  const sums = createSlidingSums(kv, now)
  const recordRefusal = createRefusals(kv, now)
  const warnUnpriced = createUnpricedWarning(log)

  /** The budgets that apply to a call, with their owners. */
  const budgetsOf = (call: Call) => {
    const { sender = [], total = [], skill = {} } = deps.budget() ?? {}
    const owner = senderOf(call)
    const ofSkill = Object.hasOwn(skill, call.skill) ? (skill[call.skill] ?? []) : []
    return [
      ...(owner === undefined ? [] : sender.map((amount) => ({ amount, owner, budget: 'sender' as const }))),
      ...total.map((amount) => ({ amount, owner: TOTAL, budget: 'total' as const })),
      ...ofSkill.map((amount) => ({ amount, owner: SKILL + call.skill, budget: 'skill' as const })),
    ]
  }

  /** The price of a step. Undefined for a model without a price, which counts only in tokens. */
  const moneyOf = (spent: Spent): number | undefined => {
    const prices = deps.prices()
    const money = spent.money ?? moneyFor(prices, spent)
    if (money === undefined && Object.keys(prices).length > 0) warnUnpriced(spent.model)
    return money
  }

  return {
    async require(call) {
      for (const { amount, owner, budget } of budgetsOf(call)) {
        const until = availableAt(await sums.read(owner, amount.per), amount)
        if (until === undefined) continue
        const isFirst = await recordRefusal(call, budget, until)
        if (isFirst) deps.refused(budget)
        if (budget === 'sender') await kv.set(OVER + owner, until, { ttl: Math.max(1, until - now()) })
        throw exhausted(call, { amount, budget, until })
      }
    },
    async spend(call, spent) {
      const tokens = spent.inputTokens + spent.outputTokens
      const money = moneyOf(spent)
      const sender = senderOf(call) ?? callerName(call)
      const reported = deps.used(call, { ...spent, sender, ...defined({ money }) })
      const windows = budgetsOf(call).map(({ amount: { per }, owner }) => ({ owner, per }))
      await Promise.all([reported, sums.add(windows, { tokens, money: money ?? 0 })]).catch((err) => {
        log.warn({ err, ...spent }, 'the usage of a model could not be counted')
      })
      return money
    },
    /** The state of the budgets; `[]` without budgets. `topSenders`: candidates for `fullest`. */
    status: (topSenders = async () => []) => statusOf({ ...deps, sums, topSenders }),
    later: laterBudgets(deps.budget, sums),
  }
}

function laterBudgets(
  budget: () => Budget | undefined,
  sums: Pick<ReturnType<typeof createSlidingSums>, 'read'>,
): LaterBudgets {
  const read = async ({ skill, limit }: NamedBudget) => {
    const { total = [], skill: ofSkills = {} } = budget() ?? {}
    const amounts = skill === undefined ? total : (ofSkills[skill] ?? [])
    const amount = amounts.find(({ text }) => text === limit)
    const owner = skill === undefined ? TOTAL : SKILL + skill
    return amount && { amount, parts: await sums.read(owner, amount.per) }
  }
  return {
    async leftAt(of, at) {
      const known = await read(of)
      return known && leftAt(known.parts, known.amount, at)
    },
    async availableAfter(of, more, at) {
      const known = await read(of)
      return known && availableAfter(known.parts, known.amount, more, at)
    },
  }
}

/**
 * Records the refusal of a run, and resolves with whether it is the first one, on any daemon. A run
 * that waits checks its budget again and again.
 */
function createRefusals(kv: KeyValues, now: () => number) {
  return async ({ message, skill, place = '' }: Call, budget: string, until: number): Promise<boolean> => {
    // Without a message, the run fails instead of waiting.
    if (!message) return true
    const run = hash('sha256', JSON.stringify([budget, message.id, skill, place])).slice(0, 32)
    const version = await kv.set(REFUSED + run, true, {
      ttl: until - now() + REFUSED_MARGIN_MS,
      ifVersion: 0,
    })
    return version !== undefined
  }
}

async function statusOf(deps: {
  budget(): Budget | undefined
  kv: KeyValues
  sums: ReturnType<typeof createSlidingSums>
  recent?(skill?: string): Promise<RecentUse | undefined>
  topSenders: TopSenders
  now(): number
}): Promise<BudgetStatus[]> {
  const { kv, sums, recent, topSenders, now } = deps
  const { sender = [], total = [], skill = {} } = deps.budget() ?? {}
  const useOf = async (owner: string, amount: Amount, lately?: RecentUse): Promise<BudgetUse> => {
    const parts = await sums.read(owner, amount.per)
    const until = availableAt(parts, amount)
    const { text: limit, unit, most } = amount
    const used = Number(sumOf(parts, amount).toFixed(4))
    const left = Number(Math.max(0, most - used).toFixed(4))
    const expected = until === undefined ? forecast(parts, amount, now(), lately) : undefined
    const next = until === undefined ? nextFree(parts, amount) : undefined
    const times = defined({ until, resetsAt: resetsAt(parts, amount), nextFree: next })
    return { limit, unit, used, most, left, ...times, ...expected }
  }
  const shared = await Promise.all([
    ...total.map(async (amount) => {
      return { budget: 'total' as const, ...(await useOf(TOTAL, amount, await recent?.())) }
    }),
    ...Object.entries(skill).flatMap(([name, amounts]) =>
      amounts.map(async (amount) => {
        const use = await useOf(SKILL + name, amount, await recent?.(name))
        return { budget: 'skill' as const, skill: name, ...use }
      }),
    ),
  ])
  if (sender.length === 0) return shared
  const { items, more } = await kv.list(OVER, MAX_LISTED)
  const over = items.map(async (key) => {
    const entry = await kv.get(key)
    // It may have expired since the list was read.
    return entry ? [{ sender: key.slice(OVER.length), until: Number(entry.value) }] : []
  })
  const limit = sender.map(({ text }) => text).join(', ')
  const uses = sender.map(async (amount) => {
    const names = await topSenders(amount.per)
    return Promise.all(names.map(async (name) => ({ sender: name, ...(await useOf(name, amount)) })))
  })
  const fullest = (await Promise.all(uses))
    .flat()
    .filter(({ used }) => used > 0)
    .sort((a, b) => a.left / a.most - b.left / b.most)
    .slice(0, MAX_FULLEST)
  return [
    ...shared,
    {
      budget: 'sender',
      limit,
      over: (await Promise.all(over)).flat(),
      ...(more && { more }),
      ...(fullest.length > 0 && { fullest }),
    },
  ]
}

/** Warns once about each model without a price. */
function createUnpricedWarning(log: Log) {
  const warned = new Set<string>()
  return (model: string) => {
    if (warned.has(model)) return
    warned.add(model)
    log.warn({ model }, 'the model has no price in `prices`: budgets in money do not count it')
  }
}

/** A time in UTC, rounded up to the minute: `2026-11-28 10:15 UTC`. */
function formatMinute(time: number): string {
  const minute = new Date(Math.ceil(time / MINUTE) * MINUTE)
  return `${minute.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * The owner of a sender's budget: the verified sender of a message, or a program with a token.
 * Unverified senders of a gateway share one budget, because they can change their name. Undefined
 * for operators, who count only towards the total.
 */
function senderOf({ caller, message }: Call): string | undefined {
  // The message comes first: the daemon itself may be the caller, on behalf of its sender.
  if (message) return withoutTag(identityOf(message) ?? `${message.gateway}/unverified`)
  if (caller.kind === 'route') return caller.id && withoutTag(caller.id)
  return caller.skills ? `${caller.kind} ${caller.id}` : undefined
}

/** The price of a step by `prices`; undefined if no entry matches the model. */
function moneyFor(prices: Prices, { model, inputTokens, outputTokens }: Spent): number | undefined {
  const [, price] = Object.entries(prices).find(([pattern]) => compilePattern(pattern).test(model)) ?? []
  return price && (inputTokens * price.input + outputTokens * price.output) / TOKENS_PER_PRICE
}

/** The name of operators and of the daemon itself in the usage list. */
function callerName({ caller: { kind, id } }: Call): string {
  return id === undefined ? kind : `${kind} ${id}`
}
