import type { Json } from '../../core/json.ts'
import type { StateBackend } from './backend.ts'

/** A value of this process, in the Map that `ctx.globals.state` is. */
export type MemoryEntry = { value: Json; version: number; expiresAt: number }

/** Keys and values of this process; gone when it ends. Values are copied in and out, as through a file. */
export function createMemoryBackend(
  now: () => number,
  entries: Map<string, MemoryEntry> = new Map(),
): StateBackend {
  const listeners = new Map<string, Set<() => void>>()

  const live = (key: string) => {
    const entry = entries.get(key)
    if (!entry || entry.expiresAt > now()) return entry
    entries.delete(key)
    return undefined
  }
  const notify = (key: string) => {
    for (const listener of [...(listeners.get(key) ?? [])]) listener()
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
      notify(key)
      return version + 1
    },
    async delete(key) {
      const existed = live(key) !== undefined
      entries.delete(key)
      if (existed) notify(key)
      return existed
    },
    async list(prefix, limit) {
      const keys = [...entries.keys()].filter((key) => key.startsWith(prefix) && live(key))
      return keys.sort().slice(0, limit)
    },
    onChange(key, listener) {
      const own = () => listener()
      const set = listeners.get(key) ?? new Set()
      listeners.set(key, set.add(own))
      return () => {
        set.delete(own)
        if (set.size === 0 && listeners.get(key) === set) listeners.delete(key)
      }
    },
    async sweep() {
      for (const key of [...entries.keys()]) live(key)
    },
    close: () => listeners.clear(),
  }
}
