import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Config } from '../config/load-config.ts'
import { pathGet } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Daemon } from '../daemon.ts'
import { trimCompileCache } from '../lib/compile-cache.ts'
import { installPlace } from '../lib/packages.ts'
import { shownPath } from '../lib/shown-path.ts'
import { keepTickShape } from '../lib/tick-shape.ts'
import { type Environs, exitCodeOf, SAME_SIGNAL_WITHIN } from './command.ts'
import { requireOrOfferParts } from './install-parts.ts'
import { needsFor } from './needs.ts'
import { watchNpmParent } from './npm-parent.ts'
import { makeServed } from './serve.ts'
import { createSystemdNotifier } from './systemd.ts'
import type { Terminal } from './terminal.ts'

/**
 * Runs the daemon until a signal: the first drains it, a second exits immediately, SIGHUP reloads.
 * Resolves with the exit code.
 */
export async function start(environs: Environs, terminal: Terminal): Promise<number> {
  await requireOrOfferParts(await needsFor(environs), terminal)
  const began = performance.now()
  const served = await makeServed(environs, { pretty: terminal.isTerminal })
  const { daemon, log, reload } = served
  const systemd = createSystemdNotifier(environs.env, log)
  const started = Promise.withResolvers<void>()
  const stop = async () => {
    systemd.stopping()
    // A start that is under way needs what the stop closes.
    await started.promise
    await daemon.stop()
  }
  const { exitCode, isSignalled } = untilSignalled(daemon, reload, log, stop, environs.env)
  process.on('unhandledRejection', (err) => {
    // Probably from a skill: a forgotten `await` must not end the process.
    log.error({ err }, 'a rejected promise was not awaited; is there an await missing in a skill?')
  })
  try {
    const addresses = await served.open()
    started.resolve()
    if (isSignalled()) return await exitCode
    keepTickShape()
    // Makes V8 keep less free memory. Set after loading, because before it would slow the start by
    // a fifth.
    setFlagsFromString('--heap-growing-percent=50')
    const ms = Math.round(performance.now() - began)
    terminal.out(banner(daemon, addresses, `${environs.version} is ready (${ms} ms)`))
    await systemd.ready(`listening on http://${addresses.listen}`)
    await served.writeSchema()
    collectGarbage()
    void trimCompileCache(dirname(getCompileCacheDir() ?? '')).catch((err) =>
      log.debug({ err }, 'the compile cache was not trimmed'),
    )
    return await exitCode
  } catch (error) {
    await daemon.stop()
    throw error
  } finally {
    systemd.close()
    served.close()
  }
}

/**
 * Frees the memory that only the start needed, a fifth of the total. Otherwise V8 would wait until
 * the heap has doubled, and grow from there. This includes the code of functions that only the
 * start called; if they are called again, V8 compiles them again.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  // Skills must not find `gc`.
  setFlagsFromString('--no-expose-gc')
  if (typeof collect !== 'function') return
  for (const flag of ['--flush-baseline-code', '--bytecode-old-age=1']) setFlagsFromString(flag)
  collect({ type: 'major', flavor: 'last-resort' })
  // The defaults: code that is in use stays compiled.
  for (const flag of ['--no-flush-baseline-code', '--bytecode-old-age=6']) setFlagsFromString(flag)
}

/**
 * Stops the daemon at a signal, or at the end of the npm process that started it. `exitCode`
 * resolves once it has drained.
 */
function untilSignalled(
  daemon: Daemon,
  reload: () => void,
  log: Log,
  stop: () => Promise<void>,
  env: Environs['env'],
) {
  const { promise: exitCode, resolve } = Promise.withResolvers<number>()
  let stoppedAt: number | undefined
  const onSignal = (signal: NodeJS.Signals | 'the end of npm') => {
    if (stoppedAt !== undefined && performance.now() - stoppedAt < SAME_SIGNAL_WITHIN) return
    if (stoppedAt !== undefined) process.exit(exitCodeOf(signal))
    stoppedAt = performance.now()
    const { drainDelay, grace } = daemon.config().daemon
    log.info({ signal, drainDelay, grace }, 'draining; a second signal exits at once')
    void stop().then(() => {
      log.info({}, 'drained; nothing acknowledged is lost')
      resolve(0)
    })
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('SIGHUP', reload)
  watchNpmParent(env, () => {
    if (stoppedAt === undefined) onSignal('the end of npm')
  })
  return { exitCode, isSignalled: () => stoppedAt !== undefined }
}

function banner(daemon: Daemon, { listen, control }: Record<'listen' | 'control', string>, head: string) {
  const config = daemon.config()
  const { dataDir, token } = config.daemon
  const isFailing = (name: string) => daemon.gateways.list().some((each) => each.name === name && !each.ok)
  const gateways = config.gateways.map(({ name, transport, enabled }) => {
    if (!enabled) return `${name} (${transport}, off)`
    return `${name} (${transport}${isFailing(name) ? ', NOT RUNNING' : ''})`
  })
  const notices = daemon.notices().map((notice) => `  ! ${notice}`)
  const tokenPlace = token === undefined ? `${shown(dataDir)}/control-token` : 'the value of TRIVIUM_TOKEN'
  const storePlace =
    daemon.store.kind === 'embedded' ? `embedded, ${shown(dataDir)}/trivium.db` : daemon.store.address
  return `
  Trivium ${head}

  listening   http://${listen}   webhooks and WebSocket
  console     http://${control}   token: ${tokenPlace}
  store       ${storePlace}
  routes      ${shown(config.file)}   (a saved change takes effect at once)
  gateways    ${gateways.join(', ') || 'none'}

${notices.length > 0 ? `${notices.join('\n')}\n\n` : ''}  Try:
    ${examples(config, listen).join('\n    ')}

`
}

/** A path relative to the current folder, if it is inside. */
const shown = (path: string) => shownPath(process.cwd(), path)

/** Commands to try with this configuration. */
function examples({ gateways }: Config, listen: string): string[] {
  const pathOf = (kind: string) =>
    pathGet(gateways.find(({ transport, enabled }) => transport === kind && enabled)?.options, 'path')
  const hook = pathOf('webhook')
  const ws = pathOf('websocket')
  const trivium = installPlace().command.includes('--global') ? 'trivium' : 'npx trivium'
  return [
    `${trivium} message cli "hello"`,
    hook ? `curl -s http://${listen}${hook} -H 'content-type: application/json' -d '{"hello":"world"}'` : [],
    ws ? `npx wscat -c ws://${listen}${ws}      then type  {"type":"message","text":"hello"}` : [],
    `${trivium} event wait --topic gateway-message --follow`,
    `${trivium} status`,
  ].flat()
}
