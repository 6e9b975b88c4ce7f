import type { Log } from '../../../src/core/log.ts'

export type LogLine = { level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }

/** A log that remembers its lines. */
export function createMemoryLog(lines: LogLine[] = [], bound: object = {}): Log & { lines: LogLine[] } {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...bound, ...fields }, message })
  }
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createMemoryLog(lines, { ...bound, ...fields }),
  }
}
