import { isStoreAway } from '../core/reachable.ts'
import { isLasting } from '../engine/event-access.ts'
import { withBacklogs } from '../features/push/group-states.ts'
import { type ReadCauses, testLetters } from './letter-causes.ts'
import type { Readings } from './metrics/readings.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { pingStore } from './trouble-readings.ts'

type ReadingDeps = Pick<
  OperatorDeps,
  'store' | 'gateways' | 'subscriptions' | 'budgets' | 'lastReload' | 'running'
>

/**
 * Reads the state of the daemon and its store, without groups of single invocations. Throws
 * `store_unavailable`.
 */
export async function readState(deps: Omit<ReadingDeps, 'running'>) {
  const { store, gateways } = deps
  const [stats, groups, subscriptions, budgets, waiting] = await Promise.all([
    store.stats(),
    store.topics.groups(),
    deps.subscriptions().catch(emptyIfAway),
    deps.budgets().catch(emptyIfAway),
    store.oldestWaiting(),
  ])
  const reload = deps.lastReload()
  const lasting = withBacklogs(
    groups.filter(({ group }) => isLasting(group)),
    subscriptions,
  )
  return { stats, groups: lasting, subscriptions, budgets, waiting, reload, gateways: gateways.list() }
}

/**
 * On a Redis Cluster, the master that has these values may be unreachable while other shards are
 * reachable.
 */
function emptyIfAway(error: unknown): [] {
  if (isStoreAway(error)) return []
  throw error
}

/** Reads the values for `/metrics`. If the store is unavailable, its part is undefined. */
export async function readMetrics(
  deps: ReadingDeps & { readCauses: ReadCauses },
  troubles: () => Promise<Readings['troubles']>,
): Promise<Readings> {
  const [ping, stored, current] = await Promise.all([
    pingStore(deps.store),
    readStored(deps).catch(() => undefined),
    troubles(),
  ])
  return {
    takesWrites: ping.ok,
    troubles: current,
    stored,
    reload: deps.lastReload(),
    gateways: deps.gateways.list(),
    running: deps.running(),
  }
}

async function readStored(deps: ReadingDeps & { readCauses: ReadCauses }) {
  const state = await readState(deps)
  return { ...state, tests: testLetters(await deps.readCauses(state.stats)) }
}
