import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import { createListeners } from '../shared/listeners.ts'
import { pauseBefore } from './connect.ts'

/** Interval of probes on an idle subscription, the only way to notice a peer that vanished silently. */
const PROBE_MS = 15_000
/** How long (ms) to stay subscribed to a channel without listeners. */
const LINGER = 30_000

/** Signals with a separate channel per shard, as in `lua/lib/preamble.lua`. */
const APART = { receive: 'receive', 'topic:gateway-message': 'events' } as const
type Apart = keyof typeof APART

/**
 * Calls the listeners of published signals. After each resubscription it calls all of them, as signals in between are lost.
 * `subscriber` opens a connection, which is used until it breaks. With several shards each has its own channels, and some are
 * subscribed only while they have listeners.
 */
export function createSignals(subscriber: () => Redis, channel: string, shards: number, log: Log) {
  const listeners = createListeners(log)
  const { promise: ready, resolve, reject } = Promise.withResolvers<true>()
  const ofShards = (suffix = '') =>
    shards === 1 ? [] : Array.from({ length: shards }, (_, shard) => `${channel}/${shard}${suffix}`)
  const channels = new Set([channel, ...ofShards()])
  /** When each was last used (Unix ms). */
  const wanted = new Map<Apart, number>()
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
    connection.on('message', (from: string, text: string) => {
      const names: string[] = JSON.parse(text)
      const [, shard] = from.slice(channel.length).split('/')
      for (const name of names) listeners.call(name, shard === undefined ? undefined : Number(shard))
    })
    connection.on('end', () => {
      awayAt = Date.now()
      if (!closed) retry = setTimeout(open, pauseBefore(++attempts))
    })
    // Subscribes to the current channels, which may have changed while connecting.
    connection.once('ready', () => {
      connection.subscribe(...channels).then(onSubscribed, (error: Error) => {
        log.debug({ channel, reason: error.message }, 'there is no subscription')
        if (error.message.startsWith('NOPERM')) reject(error)
        connection.disconnect()
      })
    })
  }

  /** Subscribes to or unsubscribes from channels. Earlier signals are missed, so `heard` is called once subscribed. */
  async function change(more: readonly string[], less: readonly string[]) {
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
  }

  function want(name: Apart) {
    if (shards === 1) return
    const isNew = !wanted.has(name)
    wanted.set(name, Date.now())
    if (isNew) void change(ofShards(`/${APART[name]}`), []).then(() => listeners.call(name))
  }

  function forgetUnwanted() {
    for (const [name, at] of wanted) {
      if (listeners.has(name) || at > Date.now() - LINGER) continue
      wanted.delete(name)
      void change([], ofShards(`/${APART[name]}`))
    }
  }

  const probe = setInterval(() => {
    forgetUnwanted()
    const connection = current
    if (connection?.status === 'ready') connection.ping().catch(() => connection.disconnect())
  }, PROBE_MS)
  probe.unref()
  open()

  return {
    /** Resolves after the first subscription; rejects if the user may not subscribe. */
    ready,
    on(name: Signal, listener: (partition?: number) => void) {
      if (isApart(name)) want(name)
      return listeners.on(name, listener)
    },
    /** Follows a signal while it is in use; each call of the returned function marks a use. Without a shard number, any shard may have changed. */
    follow(name: Apart, heard: (shard?: number) => void) {
      listeners.onCall(name, heard)
      return () => want(name)
    },
    /** Sets the shards whose dispatch signals are needed. */
    dispatchOf: async (own: ReadonlySet<number>) => {
      const mine = new Set([...own].map((shard) => `${channel}/${shard}/dispatch`))
      const isDispatch = (each: string) => each.endsWith('/dispatch')
      await change(
        [...mine].filter((each) => !channels.has(each)),
        [...channels].filter((each) => isDispatch(each) && !mine.has(each)),
      )
      for (const name of ['journal', 'jobs:dispatch']) listeners.call(name)
    },
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

function isApart(name: Signal): name is Apart {
  return Object.hasOwn(APART, name)
}
