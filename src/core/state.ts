import type { KeyValues } from './store.ts'

/**
 * Where a value is stored: in a file of this data directory, in the memory of this process, or in
 * the message store.
 */
export type StateStoreName = 'file' | 'memory' | 'shared'

/** Storage of keys and values. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** Hints that the key may have changed. Returns a function that unsubscribes. */
  onChange(key: string, listener: () => void): () => void
}
