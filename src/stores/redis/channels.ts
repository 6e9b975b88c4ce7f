import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import { pauseBefore } from './connect.ts'

/**
 * A subscription to channels that changes while it runs, on a connection that is replaced whenever
 * it breaks.
 */
export function createChannels(options: {
  /** Opens a connection, which is used until it breaks. */
  subscriber(): Redis
  first: readonly [string, ...string[]]
  received(channel: string, text: string): void
  /** Called after each resubscription, because messages were lost. */
  missed(): void
  log: Log
}) {
  const { log } = options
  const { promise: ready, resolve, reject } = Promise.withResolvers<true>()
  const channels = new Set<string>(options.first)
  let current: Redis | undefined
  let retry: NodeJS.Timeout | undefined
  let attempts = 0
  let subscribed = false
  let closed = false
  let awayAt = 0

  function open() {
    const connection = options.subscriber()
    current = connection
    connection.on('error', (error) => log.debug({ reason: error.message }, 'the subscription broke'))
    connection.on('message', options.received)
    connection.on('end', () => {
      awayAt = Date.now()
      if (!closed) retry = setTimeout(open, pauseBefore(++attempts))
    })
    // Subscribes to the current channels, which may have changed while connecting.
    connection.once('ready', () => {
      connection.subscribe(...channels).then(onSubscribed, (error: Error) => {
        log.debug({ channel: options.first[0], reason: error.message }, 'the subscription failed')
        if (error.message.startsWith('NOPERM')) reject(error)
        connection.disconnect()
      })
    })
  }

  function onSubscribed() {
    attempts = 0
    if (subscribed) options.missed()
    subscribed = true
    resolve(true)
  }

  open()

  return {
    /** Resolves after the first subscription; rejects if the user may not subscribe. */
    ready,
    all: (): ReadonlySet<string> => channels,
    /** Changes the channels. Resolves once subscribed; messages sent before that are missed. */
    async change(more: readonly string[], less: readonly string[]): Promise<void> {
      for (const each of more) channels.add(each)
      for (const each of less) channels.delete(each)
      const connection = current
      // A connection that is not ready yet will subscribe to all of them.
      if (connection?.status !== 'ready') return
      try {
        if (less.length > 0) await connection.unsubscribe(...less)
        if (more.length > 0) await connection.subscribe(...more)
      } catch {
        connection.disconnect()
      }
    },
    /** Closes a connection that does not answer: nothing else notices a vanished peer. */
    probe(): void {
      const connection = current
      if (connection?.status === 'ready') connection.ping().catch(() => connection.disconnect())
    },
    /** When the last subscription broke (Unix ms), 0 if none did. */
    awayAt: () => awayAt,
    close(): void {
      closed = true
      clearTimeout(retry)
      current?.disconnect()
    },
  }
}
