import { z } from 'zod'
import { type Amount, amountsOf } from '../../core/budget.ts'
import { patternText } from '../../core/pattern.ts'
import { DAY, parseDuration } from '../../core/units.ts'

/** Number, thousands or millions, unit (tokens or a currency), and time: `200k tokens/1d`. */
const FORM = /^(\d{1,12}(?:\.\d{1,6})?)\s*([kM])?\s*(tokens?|[A-Z]{3})\s*\/\s*(\w+)$/
/** A unit of time, whole or by its letter: by the first letter alone, `month` would be a minute. */
const TIME_UNIT = /^(s|m|h|d|w)(?:ec|econd|in|inute|our|ay|eek)?$/
const HINT = 'expected an amount per time, such as 200k tokens/1d, 5M tokens/7d or 20 EUR/30d'
/** Shortest and longest time (ms) of a budget. */
const SPANS = { shortest: 1_000, longest: 90 * DAY }
const FACTORS: Readonly<Record<string, number>> = { k: 1e3, M: 1e6 }

const amount = z.string({ error: HINT }).transform((text, context): Amount => {
  const [, number, factor = '', unit = '', span = ''] = FORM.exec(text.trim()) ?? []
  const per = parseSpan(span)
  if (Number(number) > 0 && per >= SPANS.shortest && per <= SPANS.longest) {
    const most = Number(number) * (FACTORS[factor] ?? 1)
    return { most, unit: unit.startsWith('token') ? 'tokens' : unit, per, text: text.trim() }
  }
  context.addIssue({ code: 'custom', message: HINT, input: text })
  return z.NEVER
})
/** Parses `1d`, `day` or `month` to ms; 0 for anything else. */
function parseSpan(span: string): number {
  if (/^\d/.test(span)) return parseDuration(span) ?? 0
  if (span === 'month') return 30 * DAY
  const [, unit = ''] = TIME_UNIT.exec(span) ?? []
  return parseDuration(`1${unit}`) ?? 0
}
const amounts = z
  .union([amount.transform((one) => [one]), z.array(amount).min(1)], { error: HINT })
  .default([])

/** Budgets for models, per sender, in total, and by skill. All amounts of a list apply. */
export const budgetSchema = z
  .strictObject({
    sender: amounts.describe('Limit for each sender: an amount such as `200k tokens/1d`, or a list of them.'),
    total: amounts.describe(
      'Limit for all runs together: an amount such as `20 EUR/30d`, or a list of them.',
    ),
    skill: z
      .record(
        z.string(),
        amounts.describe('Limit for one skill: an amount such as `5 EUR/7d`, or a list of them.'),
      )
      .default({})
      .describe('Limits for single skills, by name: `helper: 5 EUR/7d`, or a list of amounts.'),
  })
  .refine(
    (budget) => new Set(amountsOf(budget).map(({ unit }) => unit)).size <= 2,
    'all budgets in money need the same currency, that of `prices`',
  )

const price = z.number().min(0)
/** See `Prices`. */
export const pricesSchema = z.record(
  patternText,
  z
    .strictObject({
      input: price.describe('Price of a million input tokens.'),
      output: price.describe('Price of a million output tokens.'),
    })
    .describe('The prices of one model, or of all models that match a glob.'),
)
