import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import { createListeners } from '../shared/listeners.ts'
import { pauseBefore } from './connect.ts'

/** How often an idle subscription is probed: a peer that vanished without a word is found by nothing else. */
const PROBE_MS = 15_000

/**
 * Calls the listeners of signals that scripts publish; after each new subscription but the first all of them, as what came in
 * between is lost. `subscriber` makes a connection, which is used until it breaks.
 */
export function createSignals(subscriber: () => Redis, channel: string, log: Log) {
  const listeners = createListeners(log)
  const { promise: ready, resolve, reject } = Promise.withResolvers<true>()
  let current: Redis | undefined
  let retry: NodeJS.Timeout | undefined
  let attempts = 0
  let subscribed = false
  let closed = false
  let awayAt = 0

  function onSubscribed() {
    attempts = 0
    if (subscribed) listeners.call()
    subscribed = true
    resolve(true)
  }

  function open() {
    const connection = subscriber()
    current = connection
    connection.on('error', (error) => log.debug({ reason: error.message }, 'the subscription is away'))
    connection.on('message', (_channel: string, text: string) => {
      const names: string[] = JSON.parse(text)
      for (const name of names) listeners.call(name)
    })
    connection.on('end', () => {
      awayAt = Date.now()
      if (!closed) retry = setTimeout(open, pauseBefore(++attempts))
    })
    connection.subscribe(channel).then(onSubscribed, (error: Error) => {
      log.debug({ channel, reason: error.message }, 'there is no subscription')
      if (error.message.startsWith('NOPERM')) reject(error)
      connection.disconnect()
    })
  }

  const probe = setInterval(() => {
    const connection = current
    if (connection?.status === 'ready') connection.ping().catch(() => connection.disconnect())
  }, PROBE_MS)
  probe.unref()
  open()

  return {
    /** Resolves when the first subscription stands; rejects where the user may not subscribe. */
    ready,
    on: listeners.on,
    /** When the last subscription broke (Unix ms), 0 if none did. */
    awayAt: () => awayAt,
    close: () => {
      closed = true
      clearInterval(probe)
      clearTimeout(retry)
      current?.disconnect()
    },
  }
}
