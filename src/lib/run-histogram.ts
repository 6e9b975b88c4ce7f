/** Upper bounds of the buckets in ms. One more bucket counts longer runs. */
const BOUNDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
]
/** Number of equal parts of a bucket: a part is at most 10 % wide, mostly 5 %. */
const PARTS = 20
const LAST_BOUND = BOUNDS.at(-1) ?? 1
/** The upper end of a part above all bounds, as a multiple of its lower end. */
const GROWTH = 1.05

/** `durations`: the number of runs per bucket. */
export type RunHistogram = {
  durations: readonly number[]
  /** The number of runs per part of a bucket, by the number of the part; absent in old records. */
  parts?: Readonly<Record<string, number>>
  /** The duration (ms) of the longest run; absent without runs, and if some are of old records. */
  longest?: number
}

type Counts = { durations: number[]; parts: Record<string, number>; longest?: number }

/** An empty histogram. */
export function noDurations(): Counts {
  return { durations: new Array<number>(BOUNDS.length + 1).fill(0), parts: {} }
}

export function addDuration(histogram: Counts, ms: number): void {
  const { durations, parts, longest } = histogram
  if (longest !== undefined || totalOf(durations) === 0) histogram.longest = Math.max(longest ?? 0, ms)
  const found = BOUNDS.findIndex((bound) => ms <= bound)
  const index = found < 0 ? BOUNDS.length : found
  durations[index] = (durations[index] ?? 0) + 1
  const key = index * PARTS + (found < 0 ? partAbove(ms) : partIn(index, ms))
  parts[key] = (parts[key] ?? 0) + 1
}

/** The sums of two histograms. */
export function addDurations(a: RunHistogram, b: RunHistogram): Counts {
  const parts = { ...a.parts }
  for (const [key, count] of Object.entries(b.parts ?? {})) parts[key] = (parts[key] ?? 0) + count
  const counted = [a, b].filter(({ durations }) => totalOf(durations) > 0)
  const longest = counted.flatMap((each) => each.longest ?? [])
  const isKnown = longest.length > 0 && longest.length === counted.length
  return {
    durations: a.durations.map((count, index) => count + (b.durations[index] ?? 0)),
    parts,
    ...(isKnown && { longest: Math.max(...longest) }),
  }
}

/**
 * Estimates the duration (ms) of a quantile (0 to 1), linear within a part of a bucket, or within a
 * bucket without parts; never more than the longest run, if that is known. Undefined without runs.
 */
export function quantile(
  { durations, parts = {}, longest = Number.POSITIVE_INFINITY }: RunHistogram,
  part: number,
): number | undefined {
  const total = totalOf(durations)
  if (total === 0) return undefined
  const rank = total * part
  let runsBelow = 0
  for (const [index, count] of durations.entries()) {
    if (count > 0 && runsBelow + count >= rank)
      return Math.min(longest, within(index, (rank - runsBelow) / count, parts))
    runsBelow += count
  }
  return Math.min(longest, LAST_BOUND)
}

function totalOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The part of a bucket in which a duration (ms) is. */
function partIn(index: number, ms: number): number {
  const { lower, width } = bucketAt(index)
  return Math.max(0, Math.ceil((ms - lower) / width) - 1)
}

/** The same for a duration above all bounds. */
function partAbove(ms: number): number {
  return Math.floor(Math.log(ms / LAST_BOUND) / Math.log(GROWTH))
}

/** The duration below which a share of the runs of a bucket is. */
function within(index: number, share: number, parts: Readonly<Record<string, number>>): number {
  const first = index * PARTS
  const isLast = index === BOUNDS.length
  const counts = Object.entries(parts)
    .map(([key, count]) => ({ part: Number(key) - first, count }))
    .filter(({ part, count }) => part >= 0 && (isLast || part < PARTS) && count > 0)
    .sort((a, b) => a.part - b.part)
  const rank = share * totalOf(counts.map(({ count }) => count))
  let runsBelow = 0
  for (const { part, count } of counts) {
    if (runsBelow + count >= rank) return durationIn(index, part + (rank - runsBelow) / count)
    runsBelow += count
  }
  return isLast ? LAST_BOUND : durationIn(index, PARTS * share)
}

/** The duration (ms) at a number of parts above the lower bound of a bucket. */
function durationIn(index: number, partsAbove: number): number {
  if (index === BOUNDS.length) return Math.round(LAST_BOUND * GROWTH ** partsAbove)
  const { lower, width } = bucketAt(index)
  return Math.round(lower + width * partsAbove)
}

/** The lower bound (ms) of a bucket, and the width (ms) of its parts. */
function bucketAt(index: number): { lower: number; width: number } {
  const lower = BOUNDS[index - 1] ?? 0
  return { lower, width: ((BOUNDS[index] ?? lower) - lower) / PARTS }
}
