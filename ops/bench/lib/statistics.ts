import type { Figures } from './peer.ts'

/** A figure over several rounds. */
export type Spread = { median: number; min: number; max: number }

/** Two ends with the true value between them. */
export type Interval = { low: number; high: number }

const CONFIDENCE = 0.95

/** The value below which `percent` of the sorted values lie; 0 for none. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** One figure of all rounds. */
export function spread(rounds: readonly Figures[], name: string): Spread {
  return spreadOf(rounds.map((figures) => figures[name] ?? Number.NaN))
}

/** A figure against that of another in the same round: what disturbs a round disturbs both. */
export function ratio(rounds: readonly Figures[], others: readonly Figures[], name: string): Spread {
  return spreadOf(ratios(rounds, others, name))
}

/** The ratios of all rounds. */
export function ratios(rounds: readonly Figures[], others: readonly Figures[], name: string): number[] {
  return rounds.map((figures, round) => (figures[name] ?? Number.NaN) / (others[round]?.[name] ?? 0))
}

/**
 * Where the true median lies with a confidence of 95 %, by the sign test, which assumes no distribution
 * (https://en.wikipedia.org/wiki/Sign_test). Fewer than six values cannot say so: the interval is all of them.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const count = sorted.length
  let cut = 0
  // The chance that at most `cut` of `count` values lie below the median; each does with a chance of one half.
  let ways = 1
  let chance = 0.5 ** count
  while (2 * chance <= 1 - CONFIDENCE) {
    cut++
    ways = (ways * (count - cut + 1)) / cut
    chance += ways * 0.5 ** count
  }
  const left = Math.max(0, cut - 1)
  return { low: sorted[left] ?? Number.NaN, high: sorted[count - 1 - left] ?? Number.NaN }
}
