import { Client } from 'undici'
import { publicLookup } from '../../lib/public-lookup.ts'
import type { PushSubscription } from './schema.ts'
import { tlsOptions } from './tls.ts'

/** Maximum bytes read of an answer. */
const MAX_ANSWER = 65_536

/** The persistent connections to one receiver. Each handles one request at a time. */
export function createConnections({ url, allowPrivate, concurrency, timeout, tls }: PushSubscription) {
  const { origin } = new URL(url)
  /**
   * One per connection, created at the first event. Tracking free ones here is cheaper than
   * undici's pool.
   */
  let clients: Client[] | undefined
  const free: Client[] = []
  const waiting: ((client: Client) => void)[] = []

  /** Throws if files of `tls` cannot be read; the next call tries again. */
  const open = () => {
    const settings: Client.Options = {
      allowH2: false,
      maxResponseSize: MAX_ANSWER,
      // Each request has a timer of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout, ...tlsOptions(tls), ...(allowPrivate ? {} : { lookup: publicLookup }) },
    }
    clients = Array.from({ length: concurrency }, () => new Client(origin, settings))
    free.push(...clients)
  }

  return {
    /** Calls `use` with a free connection, at once or later. Throws like `open`. */
    take(use: (client: Client) => void): void {
      if (!clients) open()
      const client = free.pop()
      if (client) use(client)
      else waiting.push(use)
    },
    release(client: Client): void {
      const next = waiting.shift()
      if (next) next(client)
      else free.push(client)
    },
    close: () => Promise.all((clients ?? []).map((client) => client.destroy())),
  }
}
