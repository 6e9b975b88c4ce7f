import { createLogger, createRecentLines } from '../api/logger.ts'
import { readEnvironment } from '../config/environment.ts'
import type { Config } from '../config/load-config.ts'
import type { DaemonOptions } from '../daemon/options.ts'
import { createDaemon } from '../daemon.ts'
import { defined } from '../lib/defined.ts'
import { type Environs, loadFor } from './command.ts'

/**
 * Makes a daemon in this process. `level`: log level, instead of the configured one. `destination`:
 * of the log; default: stderr. `change`: applied to the configuration each time it is read. `lock`:
 * the lock of the data directory, which the daemon releases. `now`: its clock.
 */
export async function createOwnDaemon(
  environs: Environs,
  options: {
    mode: DaemonOptions['mode']
    level?: string
    pretty: boolean
    destination?: { write(line: string): unknown }
    change?(config: Config): Config
    lock?: Disposable
    now?: () => number
  },
) {
  const { lock } = options
  try {
    return await makeDaemon(environs, options)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw error
  }
}

async function makeDaemon(environs: Environs, options: Parameters<typeof createOwnDaemon>[1]) {
  const { mode, level, pretty, destination = process.stderr, change = (config) => config } = options
  const { lock, now } = options
  const first = change(await loadFor(environs))
  let { secrets } = first
  // Set before skills are loaded: their code may read it while it loads.
  environs.share?.(first.environment)
  let stored: readonly string[] = []
  const load: DaemonOptions['load'] = async (skills) => {
    const config = change(await loadFor({ ...environs, path: first.file }, defined({ skills })))
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
