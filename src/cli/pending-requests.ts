import { type JsonObject, objectsIn } from '../core/json.ts'
import type { Connection } from './connection.ts'

/** Maximum number of requests that are examined. */
const MAX_REQUESTS = 1_000

/**
 * The requests for an approval that wait for a decision: each with its `skill`, and the `route` and
 * the skill (`calledBy`) that made it, if there are any. Empty if they cannot be read.
 */
export async function pendingRequests(daemon: Pick<Connection, 'invoke'>): Promise<JsonObject[]> {
  const wanted = { status: 'pending', limit: MAX_REQUESTS }
  return objectsIn(await daemon.invoke('approval-list', wanted).catch(() => null))
}
