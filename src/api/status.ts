import { reasonOf } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { Trouble } from '../core/trouble.ts'
import { withStates } from '../features/troubles/gateway-states.ts'
import { prefixSkillsIn, routedPrefixSkills } from '../runtime/prefix-skills.ts'
import { type ReadCauses, withTests } from './letter-causes.ts'
import { roadsOf, withHeld, withPulls, withPushes } from './metrics/roads.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { readState } from './readings.ts'
import { pingStore } from './trouble-readings.ts'

/** The result of `status`: the complete state. Throws `store_unavailable`. */
export async function readStatus(
  deps: OperatorDeps & { readCauses: ReadCauses; readHeld(): Promise<number> },
  troubles: () => Promise<Trouble[]>,
) {
  const { store, manager, gateways } = deps
  const { assistant, routes, gateways: configured } = deps.config()
  const [state, assistantCounts, ping, current] = await Promise.all([
    readState(deps),
    deps.assistant().catch(errorIfAway),
    pingStore(store),
    troubles(),
  ])
  const { stats, groups, subscriptions, budgets, waiting, reload } = state
  const disabled = configured.filter((gateway) => !gateway.enabled)
  return toJson({
    version: deps.version,
    pid: process.pid,
    startedAt: deps.startedAt,
    store: { kind: store.kind, address: store.address, ...ping },
    gateways: withStates(gateways.list(), current, deps.messaging.refusals.counts()),
    subscriptions,
    disabled: disabled.map(({ name, transport, why = '' }) => ({ name, transport, why })),
    queues: deps.queues.list(),
    mcp: deps.mcp.list(),
    assistant: assistantCounts,
    budgets,
    skills: manager.list(),
    registry: assistant.enabled ? prefixSkillsIn(manager) : routedPrefixSkills(manager, routes),
    broken: manager.errors(),
    configuration: reload,
    roads: withPulls(
      withHeld(
        withTests(withPushes(roadsOf(stats), subscriptions), await deps.readCauses(stats)),
        await deps.readHeld(),
      ),
      await deps.readPulls(configured.map(({ name }) => name)),
    ),
    troubles: current,
    waiting,
    stats,
    groups,
  })
}

/**
 * On a Redis Cluster, the master that has the state of the assistant may be unreachable while
 * others are reachable.
 */
function errorIfAway(error: unknown) {
  if (isStoreAway(error)) return { error: reasonOf(error) }
  throw error
}

/** Whether the daemon is ready: the response of `/readyz`. */
export async function readReadiness(deps: OperatorDeps) {
  const store = await pingStore(deps.store)
  // The call needs no token: logins are for operators.
  const failing = deps.gateways
    .list()
    .filter(({ ok }) => !ok)
    .map(({ account: _, ...gateway }) => gateway)
  const listening = deps.listening()
  const draining = deps.draining()
  // No details: the error may quote the file, and this call needs no token.
  const configuration = deps.lastReload().ok ? 'as in the file' : 'the last good one; see `trivium status`'
  // A gateway that cannot reach its provider must not remove all gateways of this daemon from a
  // load balancer.
  const ok = store.ok && listening && !draining
  return { ok, detail: toJson({ store, listening, draining, configuration, gateways: failing }) }
}
