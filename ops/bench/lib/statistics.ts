import type { Figures } from './peer.ts'

/** A figure over several rounds. */
export type Spread = { median: number; min: number; max: number }

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
  return spreadOf(
    rounds.map((figures, round) => (figures[name] ?? Number.NaN) / (others[round]?.[name] ?? 0)),
  )
}
