import { Client, type Dispatcher } from 'undici'
import { publicLookup } from '../../lib/public-lookup.ts'
import { type Connection, createConnection, type SendResult } from './connection.ts'
import type { PushSubscription } from './schema.ts'
import { tlsOptions } from './tls.ts'

/** Maximum bytes read of an answer. */
const MAX_ANSWER = 65_536

/** The persistent connections to one receiver. Each handles one request at a time. */
export function createConnections({ url, allowPrivate, concurrency, timeout, tls }: PushSubscription) {
  const { origin } = new URL(url)
  /**
   * One per connection. Created at the first event. Tracking the free ones here is cheaper than the
   * pool of undici.
   */
  let connections: Connection[] | undefined
  const free: Connection[] = []
  const waiting: ((connection: Connection) => void)[] = []

  /** Throws if files of `tls` cannot be read; the next call tries again. */
  const open = () => {
    const settings: Client.Options = {
      allowH2: false,
      maxResponseSize: MAX_ANSWER,
      // Off, because each request has a timer of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout, ...tlsOptions(tls), ...(allowPrivate ? {} : { lookup: publicLookup }) },
    }
    connections = Array.from({ length: concurrency }, () =>
      createConnection(new Client(origin, settings), timeout, release),
    )
    free.push(...connections)
  }
  const release = (connection: Connection) => {
    const next = waiting.shift()
    if (next) next(connection)
    else free.push(connection)
  }

  return {
    /** Sends a request as soon as a connection is free. Throws like `open`. */
    send(request: Dispatcher.DispatchOptions, done: (result: SendResult) => void): void {
      if (!connections) open()
      const connection = free.pop()
      if (connection) connection.send(request, done)
      else waiting.push((next) => next.send(request, done))
    },
    close: () => Promise.all((connections ?? []).map((connection) => connection.close())),
  }
}
