import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { createDurations } from './durations.ts'
import { createTally } from './tally.ts'

/** Upper bounds (s) of the buckets of all histograms. */
export const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600]

export type Makers = ReturnType<typeof createMakers>

/**
 * Functions that make metrics of each kind in a registry, with the prefix `trivium_`. `seconds`: a
 * histogram of durations, whose name ends in `_seconds`.
 */
export function createMakers(registry: Registry) {
  const registers = [registry]
  const labels = new Map<string, readonly string[]>()
  /** Notes the labels of a metric. Returns its full name. */
  const register = (name: string, labelNames: readonly (string | undefined)[]) => {
    const fullName = `trivium_${name}`
    labels.set(
      fullName,
      labelNames.filter((label) => label !== undefined),
    )
    return fullName
  }
  return {
    /** The label names of each metric that was made. */
    labels,
    counter: (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name: register(name, labelNames), help, labelNames, registers }),
    /** A counter with one or two labels for frequent events. */
    tally: (name: string, help: string, ...labelNames: [string, string?]) =>
      createTally(register(name, labelNames), help, labelNames, registers),
    gauge: (name: string, help: string, ...labelNames: string[]) =>
      new Gauge({ name: register(name, labelNames), help, labelNames, registers }),
    /** Like `seconds`, with one label, for frequent events. */
    fastSeconds: (name: string, help: string, label: string) =>
      createDurations(register(`${name}_seconds`, [label]), help, label, BUCKETS, registers),
    seconds: (name: string, help: string, ...labelNames: string[]) =>
      new Histogram({
        name: register(`${name}_seconds`, labelNames),
        help,
        labelNames,
        registers,
        buckets: BUCKETS,
      }),
  }
}
