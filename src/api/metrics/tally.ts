import { Counter, type Registry } from 'prom-client'

export type Tally = ReturnType<typeof createTally>

/**
 * A counter for per-message events. prom-client validates and joins labels on each call, which takes as long as matching a message,
 * so increments are summed here and transferred when the counter is read.
 */
export function createTally(
  name: string,
  help: string,
  labelNames: [string, string?],
  registers: Registry[],
) {
  const sums = new Map<string, Map<string, number>>()
  const [first, second] = labelNames
  const counter = new Counter({
    name,
    help,
    labelNames: second === undefined ? [first] : [first, second],
    registers,
    collect() {
      for (const [value, inner] of sums)
        for (const [other, count] of inner)
          this.inc(second === undefined ? { [first]: value } : { [first]: value, [second]: other }, count)
      sums.clear()
    },
  })
  return {
    counter,
    /** Adds one, by label values in order. */
    add(value: string, other = ''): void {
      const inner = sums.get(value) ?? new Map<string, number>()
      inner.set(other, (inner.get(other) ?? 0) + 1)
      sums.set(value, inner)
    },
  }
}
