import type { Figures } from './peer.ts'

/** A figure over several rounds. */
export type Spread = { median: number; min: number; max: number }

/** The ends of a confidence interval. */
export type Interval = { low: number; high: number }

const CONFIDENCE = 0.95

/** The value below which `percent` of the sorted values lie; 0 for an empty list. */
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

/** Median, minimum and maximum of one figure over all rounds. */
export function spread(rounds: readonly Figures[], name: string): Spread {
  return spreadOf(rounds.map((figures) => figures[name] ?? Number.NaN))
}

/** The spread of `ratios`. */
export function ratio(rounds: readonly Figures[], others: readonly Figures[], name: string): Spread {
  return spreadOf(ratios(rounds, others, name))
}

/**
 * For each round, a figure divided by the same figure of another contender. Both come from the same
 * round, so a disturbance of the machine affects both. NaN if the figure is missing; else Infinity
 * if that of the other contender is missing.
 */
export function ratios(rounds: readonly Figures[], others: readonly Figures[], name: string): number[] {
  return rounds.map((figures, round) => (figures[name] ?? Number.NaN) / (others[round]?.[name] ?? 0))
}

/**
 * Where the true median lies with a confidence of 95 %, by the sign test, which assumes no
 * distribution (https://en.wikipedia.org/wiki/Sign_test). Fewer than six values are not enough for
 * that; then the interval spans all of them.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b)
  const count = sorted.length
  // Each value lies below the true median with a probability of 1/2. `probability` is that of at
  // most `below` such values.
  let below = 0
  let combinations = 1
  let probability = 0.5 ** count
  while (2 * probability <= 1 - CONFIDENCE) {
    below++
    combinations = (combinations * (count - below + 1)) / below
    probability += combinations * 0.5 ** count
  }
  /** How many values the interval leaves out at each end. */
  const margin = Math.max(0, below - 1)
  return { low: sorted[margin] ?? Number.NaN, high: sorted[count - 1 - margin] ?? Number.NaN }
}
