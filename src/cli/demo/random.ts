/** Chance that is the same each time (mulberry32): the demo always tells the same story. */
export type Random = ReturnType<typeof createRandom>

export function createRandom(seed: number) {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** 0 to `most` - 1. */
  const below = (most: number) => Math.floor(next() * most)
  /** Throws for an empty list. */
  const pick = <T>(from: readonly T[]): T => {
    const found = from[below(from.length)]
    if (found === undefined) throw new RangeError('there is nothing to pick from')
    return found
  }
  /** One that has a `weight` of 3 comes three times as often as one with 1. */
  const weighted = <T extends { weight: number }>(from: readonly T[]): T => {
    let left = next() * from.reduce((sum, { weight }) => sum + weight, 0)
    const found = from.find(({ weight }) => {
      left -= weight
      return left < 0
    })
    return found ?? pick(from)
  }
  return { below, pick, weighted }
}
