/** A repeatable source of random numbers. */
export type Random = {
  /** From 0 (included) to 1 (excluded). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  /** An independent source, so that draws of one part do not change those of another. */
  fork(): Random
}

/** Mulberry32 (Tommy Ettinger, public domain): the same seed gives the same numbers. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    fork: () => createRandom(Math.floor(next() * 2 ** 32)),
  }
}

/** The seed of this run: `CHAOS_SEED` if it is set, to repeat a failed run, or `fallback`. */
export function seedOf(fallback: number): number {
  return Number(process.env.CHAOS_SEED ?? fallback)
}
