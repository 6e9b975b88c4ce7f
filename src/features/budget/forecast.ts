import type { Amount, BudgetRate, RecentUse } from '../../core/budget.ts'
import { DAY, HOUR, MINUTE } from '../../core/units.ts'
import { type Buckets, bucketLength } from './sliding-sums.ts'
import { sumOf } from './sums.ts'

/**
 * The newest share of a window whose usage counts for its rate, and the smallest one. If the usage
 * began later than that, its rate is counted from its beginning.
 */
const RECENT = { most: 0.25, least: 0.025 }
/** An estimate this far away (ms) is rounded to these steps (ms). */
const ROUNDED: readonly { below: number; to: number }[] = [
  { below: 3 * HOUR, to: 5 * MINUTE },
  { below: 12 * HOUR, to: 15 * MINUTE },
  { below: 2 * DAY, to: 30 * MINUTE },
  { below: Number.POSITIVE_INFINITY, to: 6 * HOUR },
]

/** A forecast for the last hour is given if the amount then ends this much sooner. */
const CLEARLY_SOONER = 0.75

/** When an amount is used up (Unix ms, rounded), and the rate that this is calculated with. */
export type Forecast = { usedUpAt: number; rate: BudgetRate }

/** Usage per ms in the last `measured` ms. */
type Rate = { perMs: number; measured: number }

/**
 * Expects usage to go on as in the newest quarter of the window, or as in the last day of a longer
 * one if that was faster, while older usage leaves the window. Without `usedUpAt` if the amount
 * lasts for a whole window. `lastHour`: the same at the rate of the last hour, if the amount then
 * ends clearly sooner, or within a day although it would last otherwise. `recent`: what was used in
 * the last hour and day, exactly; without it, the last day is estimated from the buckets.
 */
export function forecast(
  buckets: Buckets,
  amount: Amount,
  now: number,
  recent?: RecentUse,
): Partial<Forecast> & { lastHour?: Forecast } {
  const { per } = amount
  const begin = Math.min(...Object.keys(buckets).map(Number))
  const known = Math.max(now - begin, per * RECENT.least)
  const spans = [per * RECENT.most, DAY].filter((span) => span <= per * RECENT.most)
  const rates = spans.map((span) =>
    span === DAY && recent
      ? exactRate({ ...recent.day, ms: Math.min(recent.day.ms, known) }, amount, Math.min(DAY, known))
      : rateOf(buckets, amount, now, Math.min(span, known)),
  )
  const fastest = rates.reduce((a, b) => (b.perMs > a.perMs ? b : a))
  const usual = endAt(buckets, amount, now, fastest.perMs)
  const lastHour = recent && endAtLastHour(buckets, amount, now, recent.hour)
  const latest = usual === undefined ? DAY : (usual - now) * CLEARLY_SOONER
  return {
    ...(usual !== undefined && forecastAt(usual, fastest, now)),
    ...(lastHour && lastHour.at - now < latest && { lastHour: forecastAt(lastHour.at, lastHour.rate, now) }),
  }
}

/** When the amount is used up at the rate of the last hour; undefined in a window of few hours. */
function endAtLastHour(buckets: Buckets, amount: Amount, now: number, hour: RecentUse['hour']) {
  if (amount.per * RECENT.most <= HOUR) return undefined
  const rate = exactRate(hour, amount, HOUR)
  const at = endAt(buckets, amount, now, rate.perMs)
  return at === undefined ? undefined : { at, rate }
}

function forecastAt(usedUpAt: number, { perMs, measured }: Rate, now: number): Forecast {
  const [time, length] = measured < DAY ? (['hour', HOUR] as const) : (['day', DAY] as const)
  const rate = Number((perMs * length).toPrecision(3))
  return {
    usedUpAt: roundedEstimate(usedUpAt, now),
    rate: { amount: rate, per: time, measured: Math.round(measured) },
  }
}

/** The rate of a span whose usage is known. `measured`: its nominal length (ms). */
function exactRate({ ms, tokens, money }: RecentUse['hour'], { unit }: Amount, measured: number): Rate {
  return { perMs: (unit === 'tokens' ? tokens : money) / Math.max(1, ms), measured }
}

/** The rate of the last `measured` ms. A bucket that is only partly in them counts in part. */
function rateOf(buckets: Buckets, amount: Amount, now: number, measured: number): Rate {
  const length = bucketLength(amount.per)
  const parts = Object.entries(buckets).map(([key, spent]) => {
    const start = Number(key)
    const end = Math.min(start + length, now)
    const covered = end - Math.max(start, now - measured)
    const share = end > start ? Math.max(0, covered) / (end - start) : 1
    return sumOf({ [key]: spent }, amount) * share
  })
  return { measured, perMs: parts.reduce((sum, part) => sum + part, 0) / measured }
}

/** When the amount is used up (Unix ms) at this rate. */
function endAt(buckets: Buckets, amount: Amount, now: number, perMs: number): number | undefined {
  const length = bucketLength(amount.per)
  let left = Object.entries(buckets)
  for (let at = now; perMs > 0 && at < now + amount.per; at += length) {
    left = left.filter(([start]) => Number(start) + amount.per + length > at)
    const known = sumOf(Object.fromEntries(left), amount)
    if (known + perMs * (at + length - now) < amount.most) continue
    return Math.max(at, now + (amount.most - known) / perMs)
  }
  return undefined
}

function roundedEstimate(at: number, now: number): number {
  const step = ROUNDED.find(({ below }) => at - now < below)?.to ?? HOUR
  const nearest = Math.round(at / step) * step
  return nearest > now ? nearest : nearest + step
}
