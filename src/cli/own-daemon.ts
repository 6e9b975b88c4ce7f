import { createLogger, createRecentLines } from '../api/logger.ts'
import { readEnvironment } from '../config/environment.ts'
import type { Config, LoadOptions } from '../config/load-config.ts'
import type { DaemonOptions } from '../daemon/options.ts'
import { createDaemon } from '../daemon.ts'
import { defined } from '../lib/defined.ts'
import { type Environs, loadFor } from './command.ts'

type OwnDaemonOptions = {
  mode: DaemonOptions['mode']
  /** Log level, instead of the configured one. */
  level?: string
  pretty: boolean
  /** Gets the lines of the log; default: stderr. */
  destination?: { write(line: string): unknown }
  /** Applied to the configuration each time it is read. */
  change?(config: Config): Config
  /** Variables may be unset: see `LoadOptions`. Such a daemon only reads the store. */
  withoutVariables?: LoadOptions['withoutVariables']
  /** The lock of the data directory, which the daemon releases. */
  lock?: Disposable
  /** The clock of the daemon. */
  now?: () => number
}

/** Makes a daemon in this process. */
export async function createOwnDaemon(environs: Environs, options: OwnDaemonOptions) {
  const { lock } = options
  try {
    return await makeDaemon(environs, options)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw error
  }
}

async function makeDaemon(environs: Environs, options: OwnDaemonOptions) {
  const { mode, level, pretty, destination = process.stderr, change = (config) => config } = options
  const { lock, now, withoutVariables } = options
  const first = change(await loadFor(environs, defined({ withoutVariables })))
  let { secrets } = first
  // Before skills are loaded, because their code may read the environment while it loads.
  environs.share?.(first.environment)
  let stored: readonly string[] = []
  const load: DaemonOptions['load'] = async (skills) => {
    const config = change(
      await loadFor({ ...environs, path: first.file }, defined({ skills, withoutVariables })),
    )
    secrets = config.secrets
    environs.share?.(config.environment)
    return config
  }
  const recent = createRecentLines()
  const logLevel = level ?? first.daemon.logLevel
  const log = createLogger({
    level: logLevel,
    recent,
    secrets: () => [...secrets, ...stored],
    destination,
    pretty,
  })
  const env = await readEnvironment(environs.cwd, environs.env)
  const { version } = environs
  return {
    daemon: await createDaemon({
      load,
      mode,
      version,
      env,
      log,
      logged: recent.of,
      hide: (storedSecrets) => {
        stored = storedSecrets
      },
      ...defined({ lock, now }),
    }),
    log,
    env,
  }
}
