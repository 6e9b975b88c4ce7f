/** Upper bounds of the buckets in ms. One more bucket counts longer runs. */
const BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
]
/** Number of equal parts of a bucket: a part is at most 10 % wide, mostly 5 %. */
const PARTS = 20

/** `durations`: the number of runs per bucket. */
export type RunHistogram = {
  durations: readonly number[]
  /** The number of runs per part of a bucket, by the number of the part; absent in old records. */
  parts?: Readonly<Record<string, number>>
}

/** An empty histogram. */
export function noDurations(): { durations: number[]; parts: Record<string, number> } {
  return { durations: new Array<number>(BOUNDS.length + 1).fill(0), parts: {} }
}

export function addDuration({ durations, parts }: ReturnType<typeof noDurations>, ms: number): void {
  const found = BOUNDS.findIndex((bound) => ms <= bound)
  const index = found < 0 ? BOUNDS.length : found
  durations[index] = (durations[index] ?? 0) + 1
  if (found < 0) return
  const { lower, width } = bucketAt(index)
  const part = Math.max(0, Math.ceil((ms - lower) / width) - 1)
  const key = index * PARTS + part
  parts[key] = (parts[key] ?? 0) + 1
}

/** The sums of two histograms. */
export function addDurations(a: RunHistogram, b: RunHistogram): ReturnType<typeof noDurations> {
  const parts = { ...a.parts }
  for (const [key, count] of Object.entries(b.parts ?? {})) parts[key] = (parts[key] ?? 0) + count
  return { durations: a.durations.map((count, index) => count + (b.durations[index] ?? 0)), parts }
}

/**
 * Estimates the duration (ms) of a quantile (0 to 1), linear within a part of a bucket, or within a
 * bucket without parts. Undefined without runs. For runs longer than all bounds, returns the last
 * bound.
 */
export function quantile({ durations, parts = {} }: RunHistogram, part: number): number | undefined {
  const total = durations.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const rank = total * part
  let runsBelow = 0
  for (const [index, count] of durations.entries()) {
    if (index === BOUNDS.length) break
    if (count > 0 && runsBelow + count >= rank) return within(index, (rank - runsBelow) / count, parts)
    runsBelow += count
  }
  return BOUNDS.at(-1)
}

/** The duration below which a share of the runs of a bucket is. */
function within(index: number, share: number, parts: Readonly<Record<string, number>>): number {
  const { lower, width } = bucketAt(index)
  const counts = Array.from({ length: PARTS }, (_, part) => parts[index * PARTS + part] ?? 0)
  const known = counts.reduce((sum, count) => sum + count, 0)
  const rank = known * share
  let runsBelow = 0
  for (const [part, count] of counts.entries()) {
    if (count > 0 && runsBelow + count >= rank)
      return Math.round(lower + width * (part + (rank - runsBelow) / count))
    runsBelow += count
  }
  return Math.round(lower + width * PARTS * share)
}

/** The lower bound (ms) of a bucket, and the width (ms) of its parts. */
function bucketAt(index: number): { lower: number; width: number } {
  const lower = BOUNDS[index - 1] ?? 0
  return { lower, width: ((BOUNDS[index] ?? lower) - lower) / PARTS }
}
