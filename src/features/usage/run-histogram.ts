/** Upper bounds in ms. A last bucket counts longer runs. */
const BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
]

/** An empty histogram: the number of runs per bucket. */
export const noDurations = (): number[] => new Array<number>(BOUNDS.length + 1).fill(0)

export function addDuration(buckets: number[], ms: number): void {
  const at = BOUNDS.findIndex((bound) => ms <= bound)
  const index = at < 0 ? BOUNDS.length : at
  buckets[index] = (buckets[index] ?? 0) + 1
}

export function addBuckets(into: number[], more: readonly number[]): number[] {
  return into.map((count, at) => count + (more[at] ?? 0))
}

/** Estimates the duration (ms) of a quantile, linear within a bucket; undefined without runs. */
export function quantile(buckets: readonly number[], part: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const wanted = total * part
  let [below, least] = [0, 0]
  for (const [at, count] of buckets.entries()) {
    const bound = BOUNDS[at]
    if (bound === undefined) break
    if (below + count >= wanted) return Math.round(least + ((bound - least) * (wanted - below)) / count)
    below += count
    least = bound
  }
  return least
}
