import type { Amount } from '../../core/budget.ts'
import { type Buckets, bucketLength } from './sliding-sums.ts'

/** The sum of all buckets, in the unit of the amount. */
export function sumOf(buckets: Buckets, { unit }: Amount): number {
  return Object.values(buckets).reduce(
    (sum, [tokens, money]) => sum + (unit === 'tokens' ? tokens : money),
    0,
  )
}

/**
 * When all usage will have left the window (Unix ms). Undefined without usage in the amount's unit.
 */
export function resetsAt(buckets: Buckets, amount: Amount): number | undefined {
  const starts = Object.entries(buckets)
    .filter(([start, spent]) => sumOf({ [start]: spent }, amount) > 0)
    .map(([start]) => Number(start))
  return starts.length === 0 ? undefined : Math.max(...starts) + amount.per + bucketLength(amount.per)
}

/**
 * When so much usage will have left the window that a run may start (Unix ms). Undefined if one may
 * start now.
 */
export function availableAt(buckets: Buckets, amount: Amount): number | undefined {
  let used = sumOf(buckets, amount)
  let until: number | undefined
  for (const [start, spent] of Object.entries(buckets).sort(([a], [b]) => Number(a) - Number(b))) {
    if (used < amount.most) return until
    used -= sumOf({ [start]: spent }, amount)
    until = Number(start) + amount.per + bucketLength(amount.per)
  }
  return used < amount.most ? until : Number.POSITIVE_INFINITY
}

/**
 * The newest share of a window, and the smallest one. Its usage tells how fast a budget is used. If
 * the usage began later than that, its rate is counted from its beginning.
 */
const RECENT = { most: 0.25, least: 0.025 }

/**
 * When the amount is used up (Unix ms), if usage goes on as in the newest quarter of its window, or
 * as since it began, and older usage leaves the window meanwhile. Undefined if the amount lasts for
 * a whole window.
 */
export function usedUpAt(buckets: Buckets, amount: Amount, now: number): number | undefined {
  const length = bucketLength(amount.per)
  const begin = Math.min(...Object.keys(buckets).map(Number))
  const span = Math.min(amount.per * RECENT.most, Math.max(now - begin, amount.per * RECENT.least))
  const recent = Object.entries(buckets).filter(([start]) => Number(start) + length > now - span)
  const rate = sumOf(Object.fromEntries(recent), amount) / span
  let left = Object.entries(buckets)
  for (let at = now; rate > 0 && at < now + amount.per; at += length) {
    left = left.filter(([start]) => Number(start) + amount.per + length > at)
    const known = sumOf(Object.fromEntries(left), amount)
    if (known + rate * (at + length - now) < amount.most) continue
    return Math.round(Math.max(at, now + (amount.most - known) / rate))
  }
  return undefined
}
