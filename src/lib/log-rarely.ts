/** One line of each kind in this time (ms): a flood must not become a flood of log lines. */
const QUIET = 10_000

type Level = 'info' | 'warn'
type Lines = Record<Level, (fields: object, text: string) => void>

/** Logs at most one line of a kind in ten seconds; `times`: how often it happened since the one before. */
export function createRareLog(log: Lines) {
  const quiet = new Map<string, { until: number; count: number }>()
  return (kind: string, level: Level, text: string, fields: object): void => {
    const { until, count } = quiet.get(kind) ?? { until: 0, count: 0 }
    const isQuiet = performance.now() < until
    if (!isQuiet) log[level]({ ...fields, times: count + 1 }, text)
    quiet.set(kind, isQuiet ? { until, count: count + 1 } : { until: performance.now() + QUIET, count: 0 })
  }
}
