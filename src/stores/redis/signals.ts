import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import { createListeners } from '../shared/listeners.ts'
import { pauseBefore } from './connect.ts'

/** How often an idle subscription is probed: a peer that vanished without a word is found by nothing else. */
const PROBE_MS = 15_000
/** How long (ms) a channel is listened to after nobody wanted to any more. */
const LINGER = 30_000

/** Of several shards: what has a channel of its own, as in `lua/lib/preamble.lua`. */
const APART = { receive: 'receive', 'topic:gateway-message': 'events' } as const
type Apart = keyof typeof APART

/**
 * Calls the listeners of signals that scripts publish; after each new subscription but the first all of them, as what came in
 * between is lost. `subscriber` makes a connection, which is used until it breaks. Of several shards each has channels of its own, to
 * some of which this listens only while somebody wants to hear.
 */
export function createSignals(subscriber: () => Redis, channel: string, shards: number, log: Log) {
  const listeners = createListeners(log)
  const { promise: ready, resolve, reject } = Promise.withResolvers<true>()
  const ofShards = (suffix = '') =>
    shards === 1 ? [] : Array.from({ length: shards }, (_, shard) => `${channel}/${shard}${suffix}`)
  const channels = new Set([channel, ...ofShards()])
  /** When each was last wanted (Unix ms). */
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
    // To the channels as they are then: they may have changed while it was made.
    connection.once('ready', () => {
      connection.subscribe(...channels).then(onSubscribed, (error: Error) => {
        log.debug({ channel, reason: error.message }, 'there is no subscription')
        if (error.message.startsWith('NOPERM')) reject(error)
        connection.disconnect()
      })
    })
  }

  /** Listens to more, or to less. What came before is unheard: `heard` is told of when it stands. */
  async function change(more: readonly string[], less: readonly string[]) {
    for (const each of more) channels.add(each)
    for (const each of less) channels.delete(each)
    const connection = current
    // One that is not there yet begins with all of them.
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
    /** Resolves when the first subscription stands; rejects where the user may not subscribe. */
    ready,
    on(name: Signal, listener: (partition?: number) => void) {
      if (isApart(name)) want(name)
      return listeners.on(name, listener)
    },
    /** Tells of one of these while it is used, which each call of what it returns says: all may have changed where no shard is named. */
    follow(name: Apart, heard: (shard?: number) => void) {
      listeners.onCall(name, heard)
      return () => want(name)
    },
    /** The shards whose dispatch to hear of. */
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
