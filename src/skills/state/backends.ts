import type { Json } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import type { StateBackend } from './state-service.ts'

/** A value of this process, in the Map that `ctx.globals.state` is. */
export type MemoryEntry = { value: Json; version: number; expiresAt: number }

/** Keys and values of this process; gone when it ends. Values are copied in and out, as through a file. */
export function createMemoryBackend(now: () => number, entries: Map<string, MemoryEntry>): StateBackend {
  const listeners = new Set<() => void>()

  const live = (key: string) => {
    const entry = entries.get(key)
    if (!entry || entry.expiresAt > now()) return entry
    entries.delete(key)
    return undefined
  }
  const notify = () => {
    for (const listener of [...listeners]) listener()
  }

  return {
    async get(key) {
      const entry = live(key)
      return entry && { value: structuredClone(entry.value), version: entry.version }
    },
    async set(key, value, { ttl = Number.POSITIVE_INFINITY, ifVersion }) {
      const version = live(key)?.version ?? 0
      if (ifVersion !== undefined && ifVersion !== version) return undefined
      entries.set(key, { value: structuredClone(value), version: version + 1, expiresAt: now() + ttl })
      notify()
      return version + 1
    },
    async delete(key) {
      const existed = live(key) !== undefined
      entries.delete(key)
      if (existed) notify()
      return existed
    },
    async list(prefix, limit) {
      const keys = [...entries.keys()].filter((key) => key.startsWith(prefix) && live(key))
      return keys.sort().slice(0, limit)
    },
    onChange(_key, listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async sweep() {
      for (const key of [...entries.keys()]) live(key)
    },
    close: () => listeners.clear(),
  }
}

/** Keys and values on the message store, under a prefix; the same for every daemon that shares it. */
export function createSharedBackend(
  { kv, onSignal }: Pick<Store, 'kv' | 'onSignal'>,
  root: string,
): StateBackend {
  return {
    get: (key) => kv.get(root + key),
    set: (key, value, options) => kv.set(root + key, value, options),
    delete: (key) => kv.delete(root + key),
    list: async (prefix, limit) => (await kv.list(root + prefix, limit)).map((key) => key.slice(root.length)),
    onChange: (key, listener) => onSignal(`kv:${root}${key}`, listener),
    // The store forgets by itself.
    async sweep() {},
    close() {},
  }
}
