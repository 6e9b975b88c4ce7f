import { format } from 'node:util'
import { type AppOptions, LogLevel } from '@slack/bolt'
import type { LogLevelName } from '../protocol.ts'
import type { Link } from './link.ts'

const RANKS: Record<LogLevelName, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** Bolt's logger: forwards the app's log lines, from the app's level, to the daemon's log. */
export function createLogger(link: Link): NonNullable<AppOptions['logger']> {
  let least = LogLevel.INFO
  const at = (level: LogLevelName) => {
    return (...said: unknown[]) => {
      if (RANKS[level] < RANKS[least]) return
      const error = said.find((one) => one instanceof Error)
      const words = said.map((one) => (one instanceof Error ? one.message : one))
      link.say({ kind: 'log', level, text: format(...words), ...(error && { error: link.told(error) }) })
    }
  }
  return {
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    setLevel(level) {
      least = level
    },
    getLevel: () => least,
    setName() {},
  }
}
