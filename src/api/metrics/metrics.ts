import { collectDefaultMetrics, Registry } from 'prom-client'
import { createDaemonGauges } from './daemon-gauges.ts'
import { createMakers } from './makers.ts'
import { createModelMetrics } from './model-metrics.ts'
import type { Readings } from './readings.ts'
import { createStoreGauges } from './store-gauges.ts'
import { createWorkMetrics } from './work-metrics.ts'

/** Metrics in the Prometheus text format. Labels have few values: gateway, route, reason. */
export type Metrics = ReturnType<typeof createMetrics>

/** Node gauges with misleading counter names. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/**
 * Ms between measurements of the event loop's delay. prom-client's 10 wake an idle daemon a hundred
 * times a second.
 */
const LOOP_RESOLUTION = 50

/** Makes all metrics, in a registry of their own: several daemons can run in one process. */
export function createMetrics(build: { version: string }) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION })
  for (const name of MISNAMED) registry.removeSingleMetric(name)

  const makers = createMakers(registry)
  const work = createWorkMetrics(makers)
  const models = createModelMetrics(makers)
  const info = makers.gauge('build_info', 'Always 1.', 'version', 'node')
  info.set({ ...build, node: process.versions.node }, 1)
  const setDaemonGauges = createDaemonGauges(makers)
  // So far, all metrics are of the daemon. Those of the store follow.
  const ofDaemon = new Set(makers.labels.keys())
  const setStoreGauges = createStoreGauges(makers)

  return {
    ...work,
    ...models,
    /** The label names of each metric, for the reference. */
    labels: makers.labels,
    /** Whether a metric describes this daemon, or the store that several daemons may share. */
    isOfDaemon: (name: string) => ofDaemon.has(name),
    /** The response of `/metrics`. */
    async page(readings: Readings, now: number): Promise<{ type: string; body: string }> {
      setDaemonGauges(readings, now)
      setStoreGauges(readings, now)
      return { type: registry.contentType, body: await registry.metrics() }
    },
  }
}
