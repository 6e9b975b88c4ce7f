import type { RoutedSkill } from '../config/gateways.ts'
import type { Config } from '../config/load-config.ts'
import type { Log } from '../core/log.ts'

export type DaemonOptions = {
  /** Reads routes.yaml. With `skills`, refuses routes to skills that are not among them. */
  load(skills?: readonly RoutedSkill[]): Promise<Config>
  /**
   * `serve`: a daemon that listens on both addresses. `local`: for one command in this process,
   * without listeners.
   */
  mode: 'serve' | 'local'
  /** The lock of the data directory, which the store releases. */
  lock?: Disposable | undefined
  version: string
  /** The environment with `.env`, as at the start. For tracing. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** Called with secrets from the store, which the log must not show. */
  hide?(secrets: readonly string[]): void
  /** The clock (Unix ms); by default one that ignores short jumps of the system clock. */
  now?: () => number
  /** The newest log lines about a message. */
  logged?(messageId: string): readonly object[]
}
