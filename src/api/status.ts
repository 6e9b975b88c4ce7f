import { reasonOf } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import type { Trouble } from '../core/trouble.ts'
import { isStoreAway } from '../engine/attempts.ts'
import { routedWords, wordsOf } from '../runtime/prefix-skills.ts'
import { roadsOf } from './metrics/roads.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { readStanding } from './readings.ts'
import { pingStore } from './trouble-readings.ts'

/** The result of `status`: the whole state at a glance. Throws `store_unavailable`. */
export async function readStatus(deps: OperatorDeps, troubles: () => Promise<Trouble[]>) {
  const { store, manager, gateways } = deps
  const { assistant, routes, gateways: configured } = deps.config()
  const [standing, counts, writes, found] = await Promise.all([
    readStanding(deps),
    deps.assistant().catch(whyAway),
    pingStore(store),
    troubles(),
  ])
  const { stats, groups, subscriptions, budgets, waiting, reload } = standing
  const disabled = configured.filter((gateway) => !gateway.enabled)
  return toJson({
    version: deps.version,
    pid: process.pid,
    startedAt: deps.startedAt,
    store: { kind: store.kind, address: store.address, ...writes },
    gateways: gateways.list(),
    subscriptions,
    disabled: disabled.map(({ name, transport, why = '' }) => ({ name, transport, why })),
    queues: deps.queues.list(),
    mcp: deps.mcp.list(),
    assistant: counts,
    budgets,
    skills: manager.list(),
    registry: assistant.enabled ? wordsOf(manager) : routedWords(manager, routes),
    broken: manager.errors(),
    configuration: reload,
    roads: roadsOf(stats),
    troubles: found,
    waiting,
    stats,
    groups,
  })
}

/** On a Cluster, the master that has its state may be away while messages are processed. */
function whyAway(error: unknown) {
  if (isStoreAway(error)) return { error: reasonOf(error) }
  throw error
}

/** Whether the daemon is ready: the response of `/readyz`. */
export async function readReadiness(deps: OperatorDeps) {
  const store = await pingStore(deps.store)
  const sick = deps.gateways.list().filter((gateway) => !gateway.ok)
  const [listening, draining] = [deps.listening(), deps.draining()]
  // No details: the error may quote the file, and this call needs no token.
  const configuration = deps.lastReload().ok ? 'as in the file' : 'the last good one; see `trivium status`'
  // A gateway that cannot reach its provider must not remove all gateways of this daemon from a
  // load balancer.
  const ok = store.ok && listening && !draining
  return { ok, detail: toJson({ store, listening, draining, configuration, gateways: sick }) }
}
