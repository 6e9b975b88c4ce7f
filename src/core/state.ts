import type { KeyValues } from './store.ts'

/** Where a value lives: in this data dir or process, or on the message store. */
export type StateStoreName = 'file' | 'memory' | 'shared'

/** Storage of keys and values. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** Hints that the key may have changed. Returns a function that unsubscribes. */
  onChange(key: string, listener: () => void): () => void
}
