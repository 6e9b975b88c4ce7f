import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import { backoff } from '../../lib/backoff.ts'
import { RECONNECT } from './connect.ts'
import { listOf, textOf } from './reply.ts'

/** How often an idle subscription is probed: a peer that vanished without a word is found by nothing else. */
const PROBE_MS = 15_000

export type Signals = {
  on(name: Signal, listener: () => void): () => void
  /** Resolves when the first subscription stands. */
  ready: Promise<void>
  close(): void
}

export type SignalDeps = { subscriber: () => Redis; channel: string; log: Log }

/**
 * Hears what scripts publish and calls the listeners of each signal. After every new subscription but
 * the first it calls all of them, because what was published in between is lost.
 */
export function createSignals({ subscriber, channel, log }: SignalDeps): Signals {
  const listeners = new Map<string, Set<() => void>>()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  let current: Redis | undefined
  let retry: NodeJS.Timeout | undefined
  let attempts = 0
  let subscribed = false
  let closed = false

  function call(name: string) {
    for (const listener of [...(listeners.get(name) ?? [])]) listener()
  }

  function onSubscribed() {
    attempts = 0
    if (subscribed) for (const name of [...listeners.keys()]) call(name)
    subscribed = true
    resolve()
  }

  function open() {
    const connection = subscriber()
    current = connection
    connection.on('error', (error) => log.debug({ reason: error.message }, 'the subscription is away'))
    connection.on('message', (_channel: string, text: string) => {
      for (const name of listOf(JSON.parse(text))) call(textOf(name))
    })
    connection.on('ready', () => {
      // A failure closes the connection, and its reconnect comes back here.
      connection.subscribe(channel).then(onSubscribed, (error: Error) => {
        log.debug({ channel, reason: error.message }, 'the subscription was refused')
        connection.disconnect(true)
      })
    })
    connection.on('end', () => {
      if (!closed) retry = setTimeout(open, backoff(++attempts, RECONNECT))
    })
  }

  const probe = setInterval(() => {
    const connection = current
    if (connection?.status === 'ready') connection.ping().catch(() => connection.disconnect(true))
  }, PROBE_MS)
  probe.unref()
  open()

  return {
    ready,
    on: (name, listener) => {
      const entry = () => listener()
      const known = listeners.get(name) ?? new Set()
      listeners.set(name, known.add(entry))
      return () => {
        known.delete(entry)
        if (known.size === 0 && listeners.get(name) === known) listeners.delete(name)
      }
    },
    close: () => {
      closed = true
      clearInterval(probe)
      clearTimeout(retry)
      current?.disconnect()
    },
  }
}
