import { TriviumError } from '../core/errors.ts'
import type { RequestHandler, UpgradeHandler } from '../core/transport.ts'

/** The handlers of a path: for requests, or for WebSockets. */
type Entry = { mount?: RequestHandler; upgrade?: UpgradeHandler }

export type Paths = ReturnType<typeof createPaths>

/** The handlers by exact path: one map lookup per request. */
export function createPaths() {
  const entries = new Map<string, Entry>()
  /**
   * The last path and its handlers. Most requests have the same path. Comparing it is cheaper than a
   * look-up in the map, which hashes the new string of each request.
   */
  let last: { path: string; entry: Entry } = { path: '', entry: {} }
  const forgetLast = () => {
    last = { path: '', entry: {} }
  }
  return {
    get(path: string): Entry {
      if (path !== last.path) last = { path, entry: entries.get(path) ?? {} }
      return last.entry
    },
    has: (path: string) => entries.has(path),
    all: () => [...entries.keys()],
    /**
     * Adds the handlers of a path. Returns the function that removes them. Throws `config_invalid`
     * if the path is taken.
     */
    add(path: string, entry: Entry): () => void {
      if (entries.has(path)) {
        const details = `Two gateways listen at ${path}; give each its own path.`
        throw new TriviumError('config_invalid', { details })
      }
      entries.set(path, entry)
      forgetLast()
      return () => {
        if (entries.get(path) === entry) entries.delete(path)
        forgetLast()
      }
    },
  }
}

/** The path without the query, also of a request in absolute form (RFC 9112, 3.2.2). */
export function pathOf(url = '/'): string {
  const query = url.indexOf('?')
  const target = query < 0 ? url : url.slice(0, query)
  if (target.startsWith('/')) return target
  return URL.canParse(target) ? new URL(target).pathname : target
}
