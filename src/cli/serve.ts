import { transports } from '../../transports/registry.ts'
import { configJsonSchema } from '../config/json-schema.ts'
import { watchConfiguration } from '../config/watch-files.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { defined } from '../lib/defined.ts'
import { type Environs, loadFor } from './command.ts'
import { lockAlone } from './connection.ts'
import { removeDaemonFile, writeDataFile } from './data-dir.ts'
import { createOwnDaemon } from './own-daemon.ts'

export type Served = Awaited<ReturnType<typeof makeServed>>

type Output = { pretty: boolean; destination?: { write(line: string): unknown } }

/**
 * Makes a daemon in this process that owns its data directory. `open` starts it, rereads changed
 * files, and writes its address to `daemon.json`. `close` removes that file, and is called after
 * `daemon.stop`. Waits for running commands, and for a daemon that is stopping.
 */
export async function makeServed(environs: Environs, output: Output) {
  const { dataDir: dir, redisUrl } = (await loadFor(environs)).daemon
  const lock = redisUrl === undefined ? await lockAlone(dir, environs) : undefined
  const { daemon, log } = await createOwnDaemon(environs, { ...output, mode: 'serve', ...defined({ lock }) })
  const { file } = daemon.config()
  const { dataDir } = daemon.config().daemon
  const failed = (error: unknown) =>
    log.error({}, `the last good configuration is still in use: ${reasonOf(error)}`)
  const reread = () => void daemon.reread().catch(failed)
  // Before the start, so that changes during the start are noticed.
  const unwatch = await watchConfiguration({ file, cwd: environs.cwd, env: environs.env }, reread)
  return {
    daemon,
    log,
    dataDir,
    /** Rereads the configuration, and also reloads the skills. */
    reload: () => void daemon.reload().catch(failed),
    async open() {
      const addresses = await daemon.start()
      if (!addresses) throw new TriviumError('internal', { reason: 'the daemon does not listen' })
      // A changed skill may add a route, or fix one that needs it.
      await daemon.manager.watch((files) => {
        daemon.skillsChanged(files)
        reread()
      })
      const place = { pid: process.pid, ...addresses, store: daemon.store.kind, config: file }
      await writeDataFile(dataDir, 'daemon.json', { ...place, startedAt: Date.now() })
      return addresses
    },
    /** For editors: the first line of routes.yaml refers to it. */
    writeSchema: () =>
      writeDataFile(dataDir, 'routes.schema.json', configJsonSchema(transports)).catch((err: unknown) =>
        log.warn({ err }, 'routes.schema.json, for editors, could not be written'),
      ),
    close() {
      unwatch()
      removeDaemonFile(dataDir)
    },
  }
}
