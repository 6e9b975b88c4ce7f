import { noDurations, quantile } from '../../lib/run-histogram.ts'
import { addCounts, type RunLog } from './run-log.ts'

/** Number of ended runs of a skill in the last days, and their p95 (ms). Undefined without runs. */
export function usualRunOf({ days }: Pick<RunLog, 'days'>): { runs: number; p95: number } | undefined {
  const none = { runs: 0, failed: 0, cancelled: 0, ...noDurations(), callers: {} }
  const counts = Object.values(days).reduce(addCounts, none)
  const p95 = quantile(counts, 0.95)
  return p95 === undefined ? undefined : { runs: counts.runs, p95 }
}
