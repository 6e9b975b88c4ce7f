/** One sample: numbers by their name. */
export type Sample = Record<string, number>

/**
 * How far a number may rise after the warm-up: by a share of its value or by an amount, whichever
 * is more.
 */
export type Allowed = { share?: number; amount?: number }

/** The values of one number early and late, its maximum, and whether it is flat. */
export type Verdict = { name: string; early: number; late: number; most: number; isFlat: boolean }

/**
 * Judges whether numbers that were sampled at even intervals stay flat. The first third is the
 * warm-up. The median of the next sixth is compared with that of the last sixth, so single peaks do
 * not matter.
 */
export function judge(samples: readonly Sample[], allowed: Record<string, Allowed>): Verdict[] {
  const third = Math.floor(samples.length / 3)
  const sixth = Math.max(1, Math.floor(samples.length / 6))
  return Object.entries(allowed).map(([name, { share = 0, amount = 0 }]) => {
    const values = samples.map((sample) => sample[name] ?? 0)
    const early = median(values.slice(third, third + sixth))
    const late = median(values.slice(-sixth))
    const isFlat = late - early <= Math.max(share * early, amount)
    return { name, early, late, most: Math.max(...values), isFlat }
  })
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
