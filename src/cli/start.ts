import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { watchFiles } from '../config/watch-files.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Daemon } from '../daemon.ts'
import { banner } from './banner.ts'
import { removeDaemonFile, writeDaemonFile } from './daemon-file.ts'
import type { Environs } from './environs.ts'
import { createOwnDaemon } from './own-daemon.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs the daemon in the foreground until SIGTERM or SIGINT. The first drains, a second exits at once. SIGHUP,
 * or a saved change of routes.yaml or a skill, reloads. Resolves with the exit code.
 */
export async function start(environs: Environs, terminal: Terminal): Promise<number> {
  const began = performance.now()
  const { daemon, log } = await createOwnDaemon(environs, { mode: 'serve', pretty: terminal.isTerminal })
  const {
    file,
    daemon: { dataDir },
  } = daemon.config()
  const failed = (error: unknown) =>
    log.error({}, `the last good configuration stays in force: ${reasonOf(error)}`)
  const reread = () => void daemon.reread().catch(failed)
  const ended = untilSignalled(daemon, () => void daemon.reload().catch(failed), log)
  process.on('unhandledRejection', (err) => {
    // Most likely a skill's: one that forgets an await must not take all others with it.
    log.error({ err }, 'a promise was rejected and nobody awaited it; is there an await missing in a skill?')
  })
  try {
    const addresses = await daemon.start()
    if (!addresses) throw new TriviumError('internal', { reason: 'the daemon does not listen' })
    const unwatch = watchFiles([file, join(environs.cwd, '.env')], reread)
    // A skill may bring a route, and a route may wait for its skill.
    await daemon.manager.watch(reread)
    const store = daemon.store.kind
    await writeDaemonFile(dataDir, { pid: process.pid, ...addresses, store, startedAt: Date.now() })
    setFlagsFromString(HEAP_GROWTH)
    const took = Math.round(performance.now() - began)
    terminal.out(banner({ ...addresses, daemon, version: environs.version, took }))
    const code = await ended
    unwatch()
    return code
  } catch (error) {
    await daemon.stop()
    throw error
  } finally {
    removeDaemonFile(dataDir)
  }
}

/** V8 hoards less of what is free; only once everything is loaded, for then it would cost a fifth of the start. */
const HEAP_GROWTH = '--heap-growing-percent=50'

/** One Ctrl-C under npm arrives twice within milliseconds: from the terminal, and again from npm. */
const SAME_SIGNAL = 500

/** Resolves with the exit code once the daemon has drained. */
function untilSignalled(daemon: Daemon, reload: () => void, log: Log): Promise<number> {
  return new Promise((resolve) => {
    let stoppedAt: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (stoppedAt !== undefined && performance.now() - stoppedAt < SAME_SIGNAL) return
      if (stoppedAt !== undefined) process.exit(signal === 'SIGINT' ? 130 : 143)
      stoppedAt = performance.now()
      log.info({ signal, grace: daemon.config().daemon.grace }, 'draining; a second signal exits at once')
      void daemon.stop().then(() => {
        log.info({}, 'drained; nothing acknowledged is lost')
        resolve(0)
      })
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', reload)
  })
}
