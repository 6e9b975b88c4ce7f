import type { Json } from '../../core/json.ts'

/** Where keys and values live. Versions count from 1 for a key that was absent. Expired keys are absent. */
export type StateBackend = {
  get(key: string): Promise<{ value: Json; version: number } | undefined>
  /** As `KeyValues.set`: the new version, or undefined where `ifVersion` does not hold. */
  set(key: string, value: Json, options: { ttl?: number; ifVersion?: number }): Promise<number | undefined>
  delete(key: string): Promise<boolean>
  /** Sorted. */
  list(prefix: string, limit: number): Promise<string[]>
  /** A hint that the key may have changed. */
  onChange(key: string, listener: () => void): () => void
  /** Removes what has expired. */
  sweep(): Promise<void>
  close(): void
}
