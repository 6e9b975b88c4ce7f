import type { Journal } from '../core/store.ts'
import { MINUTE } from '../core/units.ts'

/** What is known about a route. Times in Unix ms. */
type Known = {
  /** When its last message arrived. */
  at?: number
  /** Messages that arrived before this were searched. */
  searchedTo: number
  /** Where the search of older messages goes on. */
  before?: string | undefined
}

/** A message may wait this long (ms) for its route. */
const MARGIN = 10 * MINUTE

/**
 * Makes a function that finds when the last message of a route arrived (Unix ms), also before the
 * start of the daemon. A call searches the messages since the previous one. Until one is found, it
 * also searches an older part of the journal, from where the previous call stopped.
 */
export function createLastOfRoutes(journal: Pick<Journal, 'search'>, now: () => number) {
  const routes = new Map<string, Known>()

  return async (route: string): Promise<number | undefined> => {
    const known = routes.get(route)
    const search = { route, limit: 1, isPartial: true }
    const searchedTo = now()
    const since = known ? { since: known.searchedTo - MARGIN } : {}
    const newest = await journal.search({ ...search, ...since })
    const [match] = newest.found
    const at = match?.message.receivedAt ?? known?.at
    // Without an answer for all of the time, the next call searches it again.
    const isWhole = newest.next === undefined || match !== undefined || !known
    const before = known ? known.before : newest.next
    const found: Known = { searchedTo: isWhole ? searchedTo : (known?.searchedTo ?? 0), before }
    routes.set(route, at === undefined ? found : { ...found, at })
    if (at !== undefined || before === undefined || !known) return at
    const older = await journal.search({ ...search, before })
    const earlier = older.found[0]?.message.receivedAt
    // An unreachable shard may have a newer message.
    if (older.away) return earlier
    routes.set(route, { ...found, before: older.next, ...(earlier !== undefined && { at: earlier }) })
    return earlier
  }
}
