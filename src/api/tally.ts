import { Counter, type Registry } from 'prom-client'

export type Tally = ReturnType<typeof createTally>

/**
 * A counter for what happens to every message. prom-client checks and joins the labels at each call, which takes as long as
 * matching a message; so increases are summed here, and handed over when the counter is read.
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
    /** Counts one, by the values of the labels in their order. */
    add(value: string, other = ''): void {
      const inner = sums.get(value) ?? new Map<string, number>()
      inner.set(other, (inner.get(other) ?? 0) + 1)
      sums.set(value, inner)
    },
  }
}
