import type { Json } from '../../core/json.ts'
import type { StateBackend } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'

/** What is kept of a key, in a file as in memory. `expires_at` is Unix ms. */
export type StateEntry = { value: Json; version: number; expires_at?: number }

/** Where entries lie, those that have expired too. */
export type Entries = Pick<StateBackend, 'onChange' | 'close'> & {
  get(key: string): Promise<StateEntry | undefined>
  /** Changes an entry while nobody else does: `null` removes it, undefined leaves it. */
  change(
    key: string,
    decide: (current: StateEntry | undefined) => StateEntry | null | undefined,
  ): Promise<void>
  all(): Promise<[key: string, entry: StateEntry][]>
}

/** Versions and expiry over entries that know neither. */
export function createBackend(entries: Entries, now: () => number): StateBackend {
  const live = (entry: StateEntry | undefined) =>
    entry && (entry.expires_at ?? Number.POSITIVE_INFINITY) > now() ? entry : undefined

  return {
    async get(key) {
      const entry = live(await entries.get(key))
      return entry && { value: entry.value, version: entry.version }
    },
    async set(key, value, { ttl, ifVersion } = {}) {
      let version: number | undefined
      await entries.change(key, (current) => {
        const before = live(current)?.version ?? 0
        if (ifVersion !== undefined && ifVersion !== before) return undefined
        version = before + 1
        return { value, version, ...(ttl === undefined ? {} : { expires_at: now() + ttl }) }
      })
      return version
    },
    async delete(key) {
      let existed = false
      await entries.change(key, (current) => {
        existed = live(current) !== undefined
        return null
      })
      return existed
    },
    async list(prefix, limit) {
      const found = (await entries.all()).filter(([key, entry]) => key.startsWith(prefix) && live(entry))
      return found
        .map(([key]) => key)
        .sort()
        .slice(0, limit)
    },
    async sweep() {
      const expired = (await entries.all()).filter(([, entry]) => !live(entry))
      // Somebody may have written it meanwhile: look again where nobody else can.
      for (const [key] of expired) await entries.change(key, (current) => (live(current) ? undefined : null))
    },
    onChange: entries.onChange,
    close: entries.close,
  }
}

/** Keys and values in the Map `ctx.globals.state`, copied in and out as through a file. */
export function createMemoryBackend(now: () => number, entries: Map<string, StateEntry>): StateBackend {
  const listeners = new Set<() => void>()
  const memory: Entries = {
    get: async (key) => structuredClone(entries.get(key)),
    async change(key, decide) {
      const next = decide(entries.get(key))
      if (next === undefined) return
      if (next === null) entries.delete(key)
      else entries.set(key, structuredClone(next))
      for (const listener of [...listeners]) listener()
    },
    all: async () => [...entries],
    onChange(_key, listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => listeners.clear(),
  }
  return createBackend(memory, now)
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
