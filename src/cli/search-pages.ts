import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

/** Messages per page. */
const PAGE_SIZE = 500
/** The limit of `message-search` without a `limit`. */
const DEFAULT_LIMIT = 50

/**
 * Runs `message-search` until there are `limit` messages, or no older ones. A page has at most 500,
 * and may end early in a large journal, even without a match.
 */
export async function searchPages(
  daemon: Pick<Connection, 'invoke'>,
  { limit = DEFAULT_LIMIT, ...args }: Omit<JsonObject, 'limit'> & { limit?: Json },
  terminal: Pick<Terminal, 'progress'>,
): Promise<Json> {
  const wanted = Number(limit)
  const found: JsonObject[] = []
  let away: Json | undefined
  let unknown: Json | undefined
  let page: JsonObject = defined({ next: args.before })
  using _erased = { [Symbol.dispose]: () => terminal.progress('') }
  for (;;) {
    const query = {
      ...args,
      ...defined({ before: page.next }),
      limit: Math.min(PAGE_SIZE, wanted - found.length),
    }
    page = Object(await daemon.invoke('message-search', query))
    found.push(...objectsIn(page.messages))
    away = page.away ?? away
    unknown = page.unknown ?? unknown
    if (page.next === undefined || found.length >= wanted)
      return {
        ...page,
        messages: found,
        ...defined({ away, unknown: found.length > 0 ? undefined : unknown }),
      }
    terminal.progress(`${found.length} found, back to ${new Date(Number(page.searchedTo)).toISOString()} …`)
  }
}
