import { quantileOf } from '../../lib/quantile.ts'

/** Maximum number of durations in a sample. */
const MAX_SIZE = 500

/** A uniform random sample of durations (ms), for percentiles. */
export function createDurationSample(random = Math.random) {
  const sample: number[] = []
  let count = 0
  return {
    add(ms: number): void {
      count++
      // Reservoir sampling: each duration so far is in the sample with the same probability.
      const place = count <= MAX_SIZE ? sample.length : Math.floor(random() * count)
      if (place < MAX_SIZE) sample[place] = ms
    },
    /** The duration of a quantile (0 to 1); undefined without durations. */
    quantile: (part: number) => quantileOf(sample, part),
  }
}
