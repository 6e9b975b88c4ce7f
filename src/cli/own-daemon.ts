import { readEnvironment } from '../config/environment.ts'
import { createLogger } from '../control/logger.ts'
import { createDaemon, type DaemonOptions } from '../daemon.ts'
import { type Environs, loadFor } from './environs.ts'

/** Makes a daemon in this process, with its log on stderr. `level`: what is logged where the configuration shall not say. */
export async function createOwnDaemon(
  environs: Environs,
  { mode, level, pretty }: { mode: DaemonOptions['mode']; level?: string; pretty: boolean },
) {
  const first = await loadFor(environs)()
  let { secrets } = first
  const load: DaemonOptions['load'] = async (skills) => {
    const config = await loadFor({ ...environs, path: first.file })(skills)
    secrets = config.secrets
    return config
  }
  const log = createLogger({
    level: level ?? first.daemon.logLevel,
    secrets: () => secrets,
    destination: process.stderr,
    pretty,
  })
  const env = await readEnvironment(environs.cwd, environs.env)
  return { daemon: await createDaemon({ load, mode, version: environs.version, env, log }), log }
}
