import { ageText } from './age-text.ts'

/** A speed at least this share of the maximum rate is limited by it. */
const NEAR = 0.9

/**
 * `12 a second, about 8 s left`. `left`: what is still to do, without which no time is named. `rate`:
 * the maximum; `8 a second (its rate)` if that is the limit.
 */
export function paceText(perSecond: number, left = 0, rate = Number.POSITIVE_INFINITY): string {
  const shown = perSecond >= 10 ? Math.round(perSecond) : Number(perSecond.toPrecision(2))
  const time = left > 0 ? `, about ${ageText((left * 1_000) / perSecond)} left` : ''
  const limit = perSecond >= NEAR * rate ? ' (its rate)' : ''
  return `${shown.toLocaleString('en')} a second${limit}${time}`
}
