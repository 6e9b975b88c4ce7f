import type { RoutedSkill } from '../config/gateways.ts'
import type { Config } from '../config/load-config.ts'
import type { Log } from '../core/log.ts'

export type DaemonOptions = {
  /** Reads routes.yaml; with the skills that there are once they are known, so that routes to others are refused. */
  load(skills?: readonly RoutedSkill[]): Promise<Config>
  /** `serve`: listens on both addresses. `local`: for one command in this process; no listeners, no gateways that need them. */
  mode: 'serve' | 'local'
  lock?: Disposable | undefined // of the data directory, for the store to release
  version: string
  /** The environment with `.env`: where keys of models are looked up. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** The clock (Unix ms); by default one that ignores short jumps of the system's. */
  now?: () => number
  /** The newest lines of the log about a message. */
  logged?(messageId: string): readonly object[]
}
