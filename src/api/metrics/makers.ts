import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { createTally } from './tally.ts'

/** Upper bounds (s) of the buckets of all histograms. */
export const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600]

export type Makers = ReturnType<typeof createMakers>

/** Makes Trivium's metrics of each kind in a registry, with their common prefix. */
export function createMakers(registry: Registry) {
  const registers = [registry]
  const labels = new Map<string, readonly string[]>()
  const noted = (name: string, labelNames: readonly (string | undefined)[]) => {
    const whole = `trivium_${name}`
    labels.set(
      whole,
      labelNames.filter((label) => label !== undefined),
    )
    return whole
  }
  return {
    /** The label names of each metric that was made. */
    labels,
    counter: (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name: noted(name, labelNames), help, labelNames, registers }),
    tally: (name: string, help: string, ...labelNames: [string, string?]) =>
      createTally(noted(name, labelNames), help, labelNames, registers),
    gauge: (name: string, help: string, ...labelNames: string[]) =>
      new Gauge({ name: noted(name, labelNames), help, labelNames, registers }),
    seconds: (name: string, help: string, ...labelNames: string[]) =>
      new Histogram({
        name: noted(`${name}_seconds`, labelNames),
        help,
        labelNames,
        registers,
        buckets: BUCKETS,
      }),
  }
}
