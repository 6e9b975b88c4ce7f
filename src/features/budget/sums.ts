import type { Amount } from '../../core/budget.ts'
import { type Buckets, bucketLength, withoutExpired } from './sliding-sums.ts'

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

/** When the oldest usage leaves the window (Unix ms), and how much it is, in the unit of the amount. */
export function nextFree(buckets: Buckets, amount: Amount): { at: number; amount: number } | undefined {
  const parts = Object.entries(buckets).map(([start, spent]) => ({
    at: Number(start) + amount.per + bucketLength(amount.per),
    amount: Number(sumOf({ [start]: spent }, amount).toPrecision(3)),
  }))
  return parts.filter((part) => part.amount > 0).sort((a, b) => a.at - b.at)[0]
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

/** What is left at a time to come (Unix ms), if nothing is used until then. */
export function leftAt(buckets: Buckets, amount: Amount, at: number): number {
  const left = amount.most - sumOf(withoutExpired(buckets, amount.per, at), amount)
  return Number(Math.max(0, left).toFixed(4))
}

/**
 * As `availableAt`, if `more` is used at a time from now on (Unix ms), in the unit of the amount, and
 * nothing until then.
 */
export function availableAfter(all: Buckets, amount: Amount, more: number, at: number): number | undefined {
  const buckets = withoutExpired(all, amount.per, at)
  const length = bucketLength(amount.per)
  const start = String(Math.floor(at / length) * length)
  const [tokens, money] = buckets[start] ?? [0, 0]
  const added: [number, number] = amount.unit === 'tokens' ? [tokens + more, money] : [tokens, money + more]
  return availableAt({ ...buckets, [start]: added }, amount)
}
