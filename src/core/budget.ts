import { z } from 'zod'
import { patternText } from './pattern.ts'
import { parseDuration } from './units.ts'

/** What may be spent within a sliding time of `per` ms: tokens in and out together, or money. `text` is how it was written. */
export type Amount = { most: number; unit: string; per: number; text: string }

const FORM = /^(\d{1,12}(?:\.\d{1,6})?)\s*([kM])?\s*(tokens?|[A-Z]{3})\s*\/\s*(\w+)$/
/** A month must not pass for a minute. */
const NAMED = /^(s|m|h|d|w)(?:ec|econd|in|inute|our|ay|eek)?$/
const HINT = 'expected an amount in a time such as 200k tokens/1d, 5M tokens/7d or 20 EUR/30d'
const [SHORTEST, LONGEST] = [1_000, 90 * 86_400_000]

const amount = z.string({ error: HINT }).transform((text, context): Amount => {
  const [, number, times = '', unit = '', span = ''] = FORM.exec(text.trim()) ?? []
  const [, named = ''] = NAMED.exec(span) ?? []
  const per = parseDuration(/^\d/.test(span) ? span : span === 'month' ? '30d' : `1${named}`) ?? 0
  if (Number(number) > 0 && per >= SHORTEST && per <= LONGEST) {
    const most = Number(number) * (times === 'k' ? 1e3 : times === 'M' ? 1e6 : 1)
    return { most, unit: unit.startsWith('token') ? 'tokens' : unit, per, text: text.trim() }
  }
  context.addIssue({ code: 'custom', message: HINT, input: text })
  return z.NEVER
})
const amounts = z
  .union([amount.transform((one) => [one]), z.array(amount).min(1)], { error: HINT })
  .default([])

/** What models may cost: for each sender, and for all together; one amount, or several that all hold. */
export const budgetSchema = z
  .strictObject({ sender: amounts, total: amounts })
  .refine(
    ({ sender, total }) => new Set([...sender, ...total].map(({ unit }) => unit)).size <= 2,
    'budgets in money are in one currency, that of `prices`',
  )
export type Budget = z.output<typeof budgetSchema>

const price = z.number().min(0)
/** By model, as `provider:model` or a glob over that: the price of a million tokens, in the currency of the budgets. The first that fits counts. */
export const pricesSchema = z.record(patternText, z.strictObject({ input: price, output: price }))
export type Prices = z.output<typeof pricesSchema>

/** How a budget of all stands, or the senders who have used up theirs, for operators. `until`: when it goes on (Unix ms). */
export type BudgetStanding =
  | { budget: 'total'; limit: string; unit: string; used: number; most: number; until?: number }
  | { budget: 'sender'; limit: string; over: { sender: string; until: number }[] }
