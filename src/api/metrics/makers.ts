import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { createTally } from './tally.ts'

export type Makers = ReturnType<typeof createMakers>

/** Makes Trivium's metrics of each kind in a registry, with their common prefix. */
export function createMakers(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name: `trivium_${name}`, help, labelNames, registers }),
    tally: (name: string, help: string, ...labelNames: [string, string?]) =>
      createTally(`trivium_${name}`, help, labelNames, registers),
    gauge: (name: string, help: string, ...labelNames: string[]) =>
      new Gauge({ name: `trivium_${name}`, help, labelNames, registers }),
    seconds: (name: string, help: string, ...labelNames: string[]) =>
      new Histogram({
        name: `trivium_${name}_seconds`,
        help,
        labelNames,
        registers,
        buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600],
      }),
  }
}
