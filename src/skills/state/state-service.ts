import type { StateService, StateStoreName } from '../../core/services.ts'
import type { KeyValues } from '../../core/store.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'

/** Where keys and values live. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** A hint that the key may have changed. */
  onChange(key: string, listener: () => void): () => void
  /** Removes what has expired. */
  sweep(): Promise<void>
  close(): void
}

/** The service behind `state-get`, `-set`, `-delete`, `-list` and `-wait`, over its three stores. */
export function createStateService(backends: Record<StateStoreName, StateBackend>): StateService {
  return {
    get: async ({ store, key }) => (await backends[store].get(key))?.value ?? null,
    async set({ store, key, value, ...options }) {
      const version = await backends[store].set(key, value, options)
      if (version !== undefined) return { ok: true, version }
      return { ok: false, version: (await backends[store].get(key))?.version ?? 0 }
    },
    async delete({ store, key }) {
      return { ok: true, existed: await backends[store].delete(key) }
    },
    list: ({ store, prefix, limit }) => backends[store].list(prefix, limit),
    async wait({ store, key, timeout }, signal) {
      const backend = backends[store]
      const found = await waitFor({
        attempt: async () => {
          const entry = await backend.get(key)
          return entry ? { value: entry.value } : {}
        },
        watch: (wake) => backend.onChange(key, wake),
        timeout,
        signal,
      })
      if (found === undefined && signal.aborted) throw abortError(signal, `Waiting for ${key}`)
      return found ?? null
    },
  }
}
