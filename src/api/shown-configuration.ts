import type { Config } from '../config/load-config.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Route } from '../core/route.ts'
import type { NameTally } from '../engine/name-tally.ts'
import type { Address } from '../http/listen-on.ts'
import { defined } from '../lib/defined.ts'
import type { LastReload } from './metrics/readings.ts'

/**
 * The configuration before the last reload that changed it, in force from `at` until `until`, the
 * time of that reload (Unix ms).
 */
export type Previous = Config['asRead'] & { at: number; until: number }

/**
 * The configuration for operators, without secrets: as read, in force, and before the last change,
 * with the message counts of its routes. `control`: the actual address of the control listener.
 */
export function showConfiguration(
  deps: {
    config(): Config
    /** The actual address of the public listener, while it listens. */
    address(): Address | undefined
    lastReload(): LastReload
    previous(): Previous | undefined
    routeTally: Pick<NameTally, 'list'>
    startedAt: number
  },
  control?: Address,
): Json {
  const { file, envFile, asRead, warnings, daemon, routes } = deps.config()
  const { dataDir, publicUrl, retention, grace, drainDelay } = daemon
  // With port 0, the system chooses a port.
  const listen = deps.address() ?? daemon.listen
  const controlListen = control ?? daemon.controlListen
  const inForce = { dataDir, listen, controlListen, publicUrl, retention, grace, drainDelay }
  const counts = new Map(deps.routeTally.list().map(({ name, ...count }) => [name, count]))
  return toJson({
    file,
    envFile,
    ...asRead,
    inForce,
    warnings,
    reload: deps.lastReload(),
    routes: routes.map((route) => ({ ...shownRoute(route), hour: 0, day: 0, ...counts.get(route.name) })),
    /** Counts are per daemon, and start with it. */
    countedSince: deps.startedAt,
    ...defined({ previous: deps.previous() }),
  })
}

function shownRoute({ name, match, skill, queue, bolt }: Route) {
  return { name, ...defined({ match, skill, queue, bolt }) }
}
