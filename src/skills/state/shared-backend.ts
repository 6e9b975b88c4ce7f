import type { Store } from '../../core/store.ts'
import type { StateBackend } from './backend.ts'

const PREFIX = 'state:'

/** Keys and values on the message store, the same for every daemon that shares it. */
export function createSharedBackend({ kv, onSignal }: Pick<Store, 'kv' | 'onSignal'>): StateBackend {
  return {
    get: (key) => kv.get(PREFIX + key),
    set: (key, value, options) => kv.set(PREFIX + key, value, options),
    delete: (key) => kv.delete(PREFIX + key),
    list: async (prefix, limit) =>
      (await kv.list(PREFIX + prefix, limit)).map((key) => key.slice(PREFIX.length)),
    onChange: (key, listener) => onSignal(`kv:${PREFIX}${key}`, listener),
    // The store forgets by itself.
    async sweep() {},
    close() {},
  }
}
