import { invoke } from '../lib/api.js'
import { useLoaded } from '../lib/parts.js'
import { DECISION } from './audit-parts.js'

/** Maximum number of requests to look up for a list of entries. */
const MAX_REQUESTS = 1_000

/** The titles of requests by id. `id`: only of this request. */
export async function readTitles(signal, id) {
  const of = id === undefined ? { limit: MAX_REQUESTS } : { id }
  const requests = await invoke('approval-list', of, signal)
  return new Map(requests.map((request) => [request.id, request.title]))
}

/**
 * The titles of the requests that the entries decided, or tried to decide. The log does not contain
 * them, so they are read when an entry needs them.
 */
export function useTitles(entries) {
  const ids = entries.filter(({ action }) => action === DECISION).map(({ target }) => target?.id)
  const isNeeded = ids.length > 0
  const only = entries.length === 1 ? ids[0] : undefined
  const { value } = useLoaded(
    async (signal) => (isNeeded ? readTitles(signal, only) : undefined),
    [isNeeded, only],
  )
  return value
}
