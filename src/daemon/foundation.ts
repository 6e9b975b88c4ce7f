import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { transports } from '../../transports/registry.ts'
import { createMetrics } from '../api/metrics/metrics.ts'
import type { Config } from '../config/load-config.ts'
import type { Log } from '../core/log.ts'
import { isForGateway, partsOfMatch } from '../core/match.ts'
import { compilePattern } from '../core/pattern.ts'
import type { Note, Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { createGateways } from '../engine/gateways.ts'
import { createLastPulls } from '../engine/last-pulls.ts'
import { createLongWork } from '../engine/long-work.ts'
import { createNameTally } from '../engine/name-tally.ts'
import { createPulls } from '../engine/pulls.ts'
import { createRefusalHistory } from '../engine/refusal-history.ts'
import { createRefusals } from '../engine/refusals.ts'
import { createReplayEvents } from '../engine/replay-events.ts'
import { createRouter } from '../engine/router.ts'
import { createRunningAttempts } from '../engine/running-attempts.ts'
import { createUnroutedTally } from '../engine/unrouted-tally.ts'
import { createArtifactService } from '../features/artifacts/artifact-service.ts'
import { createArtifacts } from '../features/artifacts/artifacts.ts'
import { createAuditLog } from '../features/audit/audit-log.ts'
import { createStorePause } from '../features/store-pause/store-pause.ts'
import { startTracing } from '../features/tracing/tracing.ts'
import { createLogs } from '../features/transcript/logs.ts'
import { shareLogs } from '../features/transcript/shared-logs.ts'
import { defined } from '../lib/defined.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import { createSteadyClock } from '../lib/steady-clock.ts'
import { createAccess } from '../runtime/access.ts'
import { openStore } from './open-store.ts'
import type { DaemonOptions } from './options.ts'
import { withOwnRoutes } from './own-routes.ts'

export type Foundation = Awaited<ReturnType<typeof makeFoundation>>

/** The base of all other parts: configuration, clock, store, logs, metrics, router and gateways. */
export async function makeFoundation(options: DaemonOptions) {
  const { log, mode, version, env, logged = () => [] } = options
  let current = await options.load()
  const config = (): Config => current
  /** Secrets from the store. */
  let hidden: readonly string[] = []
  const { dataDir } = current.daemon
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })

  const { now = createSteadyClock() } = options
  /** Name of this daemon in leases and claims. */
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  const metrics = createMetrics({ version })
  const store = await openStore(current.daemon, { log, now, ...defined({ lock: options.lock }) })
  const tracing = mode === 'serve' ? await startTracing(env, log, store.journal.get) : undefined
  const localLogs = createLogs({ dir: dataDir, now, log })
  const sharedLogs = store.kind === 'redis' ? shareLogs(localLogs, { store, dataDir, log }) : undefined
  const longWork = createLongWork({ store, owner, log, now })
  // Files are removed a day or two after the last message that refers to them.
  const keepFor = () => current.daemon.retention.journal.maxAge + 2 * DAY
  const artifacts = createArtifacts(dataDir, store.blobs && { blobs: store.blobs, keepFor })
  const retention = () => current.daemon.retention.journal.maxAge
  const lastPulls = createLastPulls({ kv: store.kv, log, now, retention })
  return {
    mode,
    version,
    env,
    log,
    logged,
    now,
    owner,
    dataDir,
    metrics,
    store,
    tracing,
    artifacts,
    startedAt: now(),
    /** Whether to log each request. */
    isVerbose: /^(debug|trace)$/.test(current.daemon.logLevel),
    config,
    /** Applies a configuration. Parts that cache some of it have their own `use`. */
    useConfig(next: Config) {
      current = next
    },
    /** Sets the secrets from the store, which appear in no log line and no refusal. */
    hide(secrets: readonly string[]) {
      hidden = secrets
      options.hide?.(secrets)
    },
    /** Redacts the secrets of the configuration and of the store, and `more`, in a text. */
    clean: (text: string, more: readonly string[] = []) =>
      withoutSecrets(text, [...current.secrets, ...hidden, ...more]),
    logs: sharedLogs ?? localLogs,
    longWork,
    storePause: createStorePause({ store, log }),
    /** Redelivers consumed events to groups. */
    replay: createReplayEvents({ store, work: longWork, now }),
    audit: createAuditLog({ ...store, now, log }),
    /** Log lines of all daemons on a shared store. */
    sharedLogs,
    files: createArtifactService({ artifacts, store, keepFor }),
    router: createRouter(withOwnRoutes(current)),
    routeTally: createNameTally(now),
    attempts: createRunningAttempts(now),
    lastPulls,
    jobsVersion: longWork.version,
    readPulls: createPulls(lastPulls, store.receive, (gateway) => hasRoute(current, gateway)),
    unrouted: createUnroutedTally((gateway) => hasRoute(current, gateway), now),
    access: createAccess(current, (kind) => transports[kind]?.caseless ?? false),
    known: () => knownNames(current),
    ...makeGateways(store, {
      count: metrics.refused,
      secrets: () => [...current.secrets, ...hidden],
      log,
      now,
    }),
    /** Adds to a message's history. Does not wait; failures are logged. */
    note: createNotes({ store, log, now }),
  }
}

/** The gateways, their refusals, and the history of these. */
function makeGateways({ kv }: Store, options: Omit<Parameters<typeof createRefusals>[0], 'countDelivery'>) {
  const refusalHistory = createRefusalHistory({ kv, now: options.now })
  const refusals = createRefusals({ ...options, countDelivery: refusalHistory.add })
  const { log, now } = options
  const kinds = new Map(Object.entries(transports))
  const gateways = createGateways({ kinds, log, now, changed: refusals.changed, keptFits: refusals.keptFits })
  return { gateways, refusals, refusalHistory }
}

function createNotes({ store, log, now }: { store: Store; log: Log; now(): number }) {
  return (messageId: string, what: Omit<Note, 'at'>) => {
    store.journal
      .note(messageId, [{ at: now(), ...what }])
      .catch((err) => log.warn({ messageId, ...what, err }, 'a note is missing in the history of a message'))
  }
}

/** The names that a `match` may use. */
function knownNames({ gateways }: Config) {
  return { gateway: gateways.map(({ name }) => name), transport: Object.keys(transports) }
}

/** Whether a gateway has a route that is not only for a few words (`prefix`). */
function hasRoute({ routes, gateways }: Config, gateway: string): boolean {
  const transport = gateways.find(({ name }) => name === gateway)?.transport ?? ''
  return routes.some(({ match }) => {
    const { keys } = partsOfMatch(match)
    const transports = Array.isArray(keys.transport) ? keys.transport : ['*']
    const isForTransport = transports.some((each) => compilePattern(each).test(transport))
    return keys.prefix === undefined && isForTransport && isForGateway(match, gateway)
  })
}
