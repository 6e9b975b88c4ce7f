import { invoke } from '../lib/api.js'
import { useLoaded } from '../lib/parts.js'
import { DECISION } from './audit-parts.js'

/** Maximum number of requests to look up for a list of entries. */
const MAX_REQUESTS = 1_000

/** Requests by id. `id`: only this one. */
export async function readRequests(signal, id) {
  const of = id === undefined ? { limit: MAX_REQUESTS } : { id }
  const requests = await invoke('approval-list', of, signal)
  return new Map(requests.map((request) => [request.id, request]))
}

/**
 * The requests that the entries decided, or tried to decide. The log has only their ids, so they are
 * read when an entry needs them.
 */
export function useRequests(entries) {
  const ids = entries.filter(({ action }) => action === DECISION).map(({ target }) => target?.id)
  const isNeeded = ids.length > 0
  const only = entries.length === 1 ? ids[0] : undefined
  const { value } = useLoaded(
    async (signal) => (isNeeded ? readRequests(signal, only) : undefined),
    [isNeeded, only],
  )
  return value
}
