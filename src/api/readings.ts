import { isStoreAway } from '../engine/attempts.ts'
import { isLasting } from '../engine/event-access.ts'
import type { Readings } from './metrics/readings.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { pingStore } from './trouble-readings.ts'

type ReadingDeps = Pick<
  OperatorDeps,
  'store' | 'gateways' | 'subscriptions' | 'budgets' | 'lastReload' | 'running'
>

/** Reads the state of the daemon and its store. Throws `store_unavailable`. */
export async function readStanding(deps: Omit<ReadingDeps, 'running'>) {
  const { store, gateways } = deps
  const [stats, groups, subscriptions, budgets, waiting] = await Promise.all([
    store.stats(),
    store.topics.groups(),
    deps.subscriptions().catch(noneIfAway),
    deps.budgets().catch(noneIfAway),
    store.oldestWaiting(),
  ])
  const here = { reload: deps.lastReload(), gateways: gateways.list() }
  return { stats, groups, subscriptions, budgets, waiting, ...here }
}

/** On a Cluster, the master that has these values may be away while the journals of other shards are there. */
function noneIfAway(error: unknown): [] {
  if (isStoreAway(error)) return []
  throw error
}

/** Reads the values for `/metrics`. If the store is unavailable, its part is undefined. */
export async function readMeasured(
  deps: ReadingDeps,
  troubles: () => Promise<Readings['troubles']>,
): Promise<Readings> {
  const look = async () => {
    const { groups, ...known } = await readStanding(deps)
    return { ...known, groups: groups.filter(({ group }) => isLasting(group)) }
  }
  const [writes, stored, found] = await Promise.all([
    pingStore(deps.store),
    look().catch(() => undefined),
    troubles(),
  ])
  return {
    takesWrites: writes.ok,
    troubles: found,
    stored,
    reload: deps.lastReload(),
    gateways: deps.gateways.list(),
    running: deps.running(),
  }
}
