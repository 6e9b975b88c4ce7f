/** Upper bounds of the buckets in ms. One more bucket counts longer runs. */
const BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
]

/** An empty histogram: the number of runs per bucket. */
export const noDurations = (): number[] => new Array<number>(BOUNDS.length + 1).fill(0)

export function addDuration(buckets: number[], ms: number): void {
  const found = BOUNDS.findIndex((bound) => ms <= bound)
  const index = found < 0 ? BOUNDS.length : found
  buckets[index] = (buckets[index] ?? 0) + 1
}

/** The sums of two histograms. */
export function addBuckets(a: readonly number[], b: readonly number[]): number[] {
  return a.map((count, index) => count + (b[index] ?? 0))
}

/**
 * Estimates the duration (ms) of a quantile (0 to 1), linear within a bucket. Undefined without
 * runs. For runs longer than all bounds, returns the last bound.
 */
export function quantile(buckets: readonly number[], part: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const rank = total * part
  let runsBelow = 0
  let lower = 0
  for (const [index, count] of buckets.entries()) {
    const upper = BOUNDS[index]
    if (upper === undefined) break
    if (count > 0 && runsBelow + count >= rank)
      return Math.round(lower + ((upper - lower) * (rank - runsBelow)) / count)
    runsBelow += count
    lower = upper
  }
  return lower
}
