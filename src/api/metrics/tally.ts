import { Counter, type Registry } from 'prom-client'

export type Tally = ReturnType<typeof createTally>

/**
 * A counter for per-message events. prom-client validates and joins labels on each call, which
 * takes as long as matching a message. Increments are therefore summed here, and transferred when
 * the counter is read.
 */
export function createTally(
  name: string,
  help: string,
  labelNames: [string, string?],
  registers: Registry[],
) {
  /** By the values of the first and second label. */
  const sums = new Map<string, Map<string, { count: number }>>()
  const [first, second] = labelNames
  const counter = new Counter({
    name,
    help,
    labelNames: second === undefined ? [first] : [first, second],
    registers,
    collect() {
      for (const [value1, bySecond] of sums) {
        for (const [value2, { count }] of bySecond)
          this.inc(second === undefined ? { [first]: value1 } : { [first]: value1, [second]: value2 }, count)
      }
      sums.clear()
    },
  })
  return {
    counter,
    /** Adds a number for these values of the labels. */
    add(count: number, value1: string, value2 = ''): void {
      const sum = sums.get(value1)?.get(value2)
      if (sum) sum.count += count
      else sums.set(value1, new Map(sums.get(value1)).set(value2, { count }))
    },
  }
}
