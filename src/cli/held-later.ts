import { type JsonObject, objectsIn } from '../core/json.ts'
import { heldLaterText, requestsOfCallers } from '../lib/held-later.ts'
import type { Connection } from './connection.ts'
import { pendingRequests } from './pending-requests.ts'
import { totalOf } from './route-work.ts'

type Daemon = Pick<Connection, 'invoke'>

/**
 * Sentences on what else a pause of dispatch holds: messages that will be retried, or that wait for
 * an approval. Undefined if there are none, or if the daemon cannot be reached.
 */
export async function heldLater(daemon: Daemon, pause: JsonObject): Promise<string | undefined> {
  if (pause.drop === true) return undefined
  try {
    const filters = await filtersOf(daemon, pause)
    const [retrying, approvals] = await Promise.all(
      ['retrying', 'approval'].map((outcome) => countOf(daemon, filters, outcome)),
    )
    const requests = pause.kind === 'skill' ? requestsOfCallers(pause.name, await pendingRequests(daemon)) : 0
    const counts = { ...(retrying && { retrying }), ...(approvals && { approvals }), requests }
    return heldLaterText(counts) || undefined
  } catch {
    return undefined
  }
}

/** Message filters for the paused object. A skill is found by its routes. */
async function filtersOf(daemon: Daemon, { kind, name, gateway }: JsonObject): Promise<JsonObject[]> {
  if (kind === 'conversation') return [{ gateway: String(gateway), conversation: String(name) }]
  if (kind !== 'skill') return [{ [String(kind)]: String(name) }]
  const routes = objectsIn(await daemon.invoke('route-list', {}))
  const own = routes.filter(({ target, to }) => target === 'skill' && to === name)
  return own.map((route) => ({ route: String(route.name) }))
}

async function countOf(daemon: Daemon, filters: readonly JsonObject[], outcome: string): Promise<number> {
  const found = filters.map((filter) =>
    daemon.invoke('message-histogram', { ...filter, outcome, buckets: 1 }).then(totalOf),
  )
  return (await Promise.all(found)).reduce<number>((sum, many) => sum + (many ?? 0), 0)
}
