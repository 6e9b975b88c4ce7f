import type { Log } from '../../../src/core/log.ts'

export type LogLine = { level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }

/** A log that keeps its lines in memory. */
export function createMemoryLog(lines: LogLine[] = [], bound: object = {}): Log & { lines: LogLine[] } {
  const writeAt = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...bound, ...fields }, message })
  }
  return {
    lines,
    debug: writeAt('debug'),
    info: writeAt('info'),
    warn: writeAt('warn'),
    error: writeAt('error'),
    child: (fields) => createMemoryLog(lines, { ...bound, ...fields }),
  }
}
