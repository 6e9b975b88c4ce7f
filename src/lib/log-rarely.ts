/** At most one line per kind in this time (ms), so that floods do not flood the log. */
const QUIET = 10_000

type Level = 'info' | 'warn'
type Lines = Record<Level, (fields: object, text: string) => void>

/** Logs at most one line per kind in ten seconds; `times`: occurrences since the previous line. */
export function createRareLog(log: Lines) {
  const quiet = new Map<string, { until: number; count: number }>()
  return (kind: string, level: Level, text: string, fields: object): void => {
    const { until, count } = quiet.get(kind) ?? { until: 0, count: 0 }
    const isQuiet = performance.now() < until
    if (!isQuiet) log[level]({ ...fields, times: count + 1 }, text)
    quiet.set(kind, isQuiet ? { until, count: count + 1 } : { until: performance.now() + QUIET, count: 0 })
  }
}
