/**
 * Minimum time (ms) between two lines of a kind, so that many equal events do not flood the log.
 */
const INTERVAL = 10_000

type Level = 'info' | 'warn'
type Lines = Record<Level, (fields: object, text: string) => void>

/** Logs at most one line per kind in ten seconds; `times`: occurrences since the previous line. */
export function createRareLog(log: Lines) {
  const skipped = new Map<string, { until: number; count: number }>()
  return (kind: string, level: Level, text: string, fields: object): void => {
    const { until, count } = skipped.get(kind) ?? { until: 0, count: 0 }
    if (performance.now() < until) {
      skipped.set(kind, { until, count: count + 1 })
      return
    }
    log[level]({ ...fields, times: count + 1 }, text)
    skipped.set(kind, { until: performance.now() + INTERVAL, count: 0 })
  }
}
