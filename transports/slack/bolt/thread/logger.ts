import { format } from 'node:util'
import { type AppOptions, LogLevel } from '@slack/bolt'
import type { LogLevelName } from '../protocol.ts'
import type { Link } from './link.ts'

const RANKS: Record<LogLevelName, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** Bolt's logger: forwards the app's log lines of its level and above to the daemon's log. */
export function createLogger(link: Link): NonNullable<AppOptions['logger']> {
  let minLevel = LogLevel.INFO
  const at = (level: LogLevelName) => {
    return (...args: unknown[]) => {
      if (RANKS[level] < RANKS[minLevel]) return
      const error = args.find((arg) => arg instanceof Error)
      const text = format(...args.map((arg) => (arg instanceof Error ? arg.message : arg)))
      link.send({ kind: 'log', level, text, ...(error && { error: link.toErrorData(error) }) })
    }
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    setLevel(level) {
      minLevel = level
    },
    getLevel: () => minLevel,
    setName() {},
  }
}
