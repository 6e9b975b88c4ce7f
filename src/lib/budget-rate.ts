import { budgetAmount } from './budget-amount.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A time this far away (ms) is shown without its time of day. */
const FAR = 2 * DAY

/** A budget of which this share is used is nearly used up. */
const NEARLY_ALL = 0.9

/** Whether little of a budget is left. */
export function isNearlyUsedUp({ used, most }: Readonly<{ used?: unknown; most?: unknown }>): boolean {
  return Number(used) / Number(most) >= NEARLY_ALL
}

/** The rate of a forecast of a budget: `0.22 EUR a day (as in the last 24 hours)`. */
export function rateText({ rate, unit }: { rate?: unknown; unit?: unknown }): string {
  const { amount, per, measured } = Object(rate)
  if (typeof amount !== 'number') return 'the current rate'
  const rounded = Number(amount.toPrecision(3))
  return `${budgetAmount({ unit }, rounded)} ${per === 'hour' ? 'an' : 'a'} ${per} (as in the last ${lengthText(measured)})`
}

function lengthText(ms: number): string {
  if (ms === HOUR) return 'hour'
  if (ms < HOUR) return `${Math.round(ms / 60_000)} minutes`
  const [length, unit] = ms <= 2 * DAY ? [ms / HOUR, 'hours'] : [ms / DAY, 'days']
  return `${Number(length.toFixed(1))} ${unit}`
}

/**
 * The forecasts of a budget: at which rate it is used up, and when. First the usual one, then that
 * of the last hour.
 */
export function forecastsOf(budget: Readonly<Record<string, unknown>>): { rate: string; usedUpAt: number }[] {
  const { unit } = budget
  return [budget, Object(budget.lastHour)].flatMap(({ rate, usedUpAt }) =>
    typeof usedUpAt === 'number' ? [{ rate: rateText({ rate, unit }), usedUpAt }] : [],
  )
}

/** Whether a time is so far away that only its day matters. */
export function isFar(at: number, now: number): boolean {
  return at - now > FAR
}
