import type { Redis } from 'ioredis'
import type { Log } from '../../core/log.ts'
import type { Signal } from '../../core/store.ts'
import { createListeners } from '../shared/listeners.ts'
import { createChannels } from './channels.ts'

/** Interval of probes: on an idle subscription, nothing else notices a peer that has vanished. */
const PROBE_MS = 15_000
/** How long (ms) to stay subscribed to a channel without listeners. */
const LINGER = 30_000

/** Signals with a separate channel per shard, as in `lua/lib/preamble.lua`. */
const APART = { receive: 'receive', 'topic:gateway-message': 'events' } as const
type Apart = keyof typeof APART

/**
 * Calls the listeners of published signals. After each resubscription it calls all of them, as
 * signals in between are lost. `subscriber` opens a connection, which is used until it breaks. With
 * several shards, each shard has its own channels; some of these are subscribed only while they
 * have listeners.
 */
export function createSignals(subscriber: () => Redis, channel: string, shards: number, log: Log) {
  const listeners = createListeners(log)
  const ofShards = (suffix = '') =>
    shards === 1 ? [] : Array.from({ length: shards }, (_, shard) => `${channel}/${shard}${suffix}`)
  const channels = createChannels({
    subscriber,
    first: [channel, ...ofShards()],
    received(from, text) {
      const names: string[] = JSON.parse(text)
      const [, shard] = from.slice(channel.length).split('/')
      for (const name of names) listeners.call(name, shard === undefined ? undefined : Number(shard))
    },
    missed: () => listeners.call(),
    log,
  })
  /** The subscribed signals of `APART`, and when each was last used (ms, monotonic). */
  const wanted = new Map<Apart, number>()

  function want(name: Apart) {
    if (shards === 1) return
    const isNew = !wanted.has(name)
    wanted.set(name, performance.now())
    if (isNew) void channels.change(ofShards(`/${APART[name]}`), []).then(() => listeners.call(name))
  }

  function forgetUnwanted() {
    for (const [name, at] of wanted) {
      if (listeners.has(name) || at > performance.now() - LINGER) continue
      wanted.delete(name)
      void channels.change([], ofShards(`/${APART[name]}`))
    }
  }

  const probe = setInterval(() => {
    forgetUnwanted()
    channels.probe()
  }, PROBE_MS)
  probe.unref()

  return {
    /** Resolves after the first subscription; rejects if the user may not subscribe. */
    ready: channels.ready,
    on(name: Signal, listener: (partition?: number) => void) {
      if (isApart(name)) want(name)
      return listeners.on(name, listener)
    },
    /**
     * Follows a signal while it is in use; each call of the returned function marks a use. Without
     * a shard number, any shard may have changed.
     */
    follow(name: Apart, changed: (shard?: number) => void) {
      listeners.onCall(name, changed)
      return () => want(name)
    },
    /** Sets the shards whose dispatch signals are needed. */
    dispatchOf: async (own: ReadonlySet<number>) => {
      const mine = new Set([...own].map((shard) => `${channel}/${shard}/dispatch`))
      const isDispatch = (each: string) => each.endsWith('/dispatch')
      const current = channels.all()
      await channels.change(
        [...mine].filter((each) => !current.has(each)),
        [...current].filter((each) => isDispatch(each) && !mine.has(each)),
      )
      for (const name of ['journal', 'jobs:dispatch']) listeners.call(name)
    },
    /** When the last subscription broke (Unix ms), 0 if none did. */
    awayAt: channels.awayAt,
    close: () => {
      clearInterval(probe)
      channels.close()
    },
  }
}

function isApart(name: Signal): name is Apart {
  return Object.hasOwn(APART, name)
}
