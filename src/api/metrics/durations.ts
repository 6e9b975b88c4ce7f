import { Histogram, type MetricValueWithName, type Registry } from 'prom-client'

export type Durations = ReturnType<typeof createDurations>

/**
 * A histogram with one label for per-message events, in seconds. prom-client validates and hashes
 * the labels at each observation, so it only exports what is counted here.
 */
export function createDurations(
  name: string,
  help: string,
  label: string,
  buckets: number[],
  registers: Registry[],
) {
  /** By label value. `counts`: observations per bucket; the last one has no upper bound. */
  const series = new Map<string, { counts: number[]; sum: number }>()
  const histogram = new Histogram({ name, help, labelNames: [label], registers, buckets })

  const valuesOf = (value: string, { counts, sum }: { counts: number[]; sum: number }) => {
    let total = 0
    const bounds = counts.map((count, index): MetricValueWithName<string> => {
      total += count
      const labels = { le: buckets[index] ?? '+Inf', [label]: value }
      return { labels, value: total, metricName: `${name}_bucket` }
    })
    const labels = { [label]: value }
    return [
      ...bounds,
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: total, metricName: `${name}_count` },
    ]
  }
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: [...series].flatMap(([value, each]) => valuesOf(value, each)),
  })
  // prom-client reads the first for its text format, and the second for JSON.
  Object.assign(histogram, { getForPromString: get, get })

  return {
    histogram,
    observe(value: string, seconds: number): void {
      let found = series.get(value)
      if (!found) {
        found = { counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }
        series.set(value, found)
      }
      let index = 0
      while (index < buckets.length && seconds > (buckets[index] ?? 0)) index++
      found.counts[index] = (found.counts[index] ?? 0) + 1
      found.sum += seconds
    },
  }
}
