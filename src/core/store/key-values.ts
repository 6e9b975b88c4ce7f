import type { Json } from '../json.ts'
import type { Page } from './page.ts'

export type KeyValues = {
  get(key: string): Promise<{ value: Json; version: number } | undefined>
  /** Returns the new version; undefined if the current version is not `ifVersion`. */
  set(key: string, value: Json, options?: SetOptions): Promise<number | undefined>
  delete(key: string): Promise<boolean>
  /** Keys with the prefix, sorted by bytes, after the key `after`. To read all, use `allKeys`. */
  list(prefix: string, limit: number, after?: string): Promise<Page<string>>
}

export type SetOptions = {
  /** Ms until the value expires. Without it, the value stays. */
  ttl?: number
  /** Keeps the expiry of the previous value. */
  keepTtl?: boolean
  /** Writes only if the current version is this one; 0: if the key is absent. */
  ifVersion?: number
}

/** Bytes by name, for data too large for a message. Entries expire after `ttl` (ms). */
export type Blobs = {
  set(name: string, bytes: Uint8Array, ttl: number): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  delete(name: string): Promise<void>
  /** Extends the expiry to at least `ttl` ms from now. Returns false if there is no such entry. */
  renew(name: string, ttl: number): Promise<boolean>
}

/** Mutual exclusion with a fencing token that increases with every new holder. */
export type Leases = {
  /**
   * Takes or renews a lease for `ttl` ms. Undefined if another owner holds it. A renewed lease
   * keeps its token.
   */
  acquire(name: string, owner: string, ttl: number): Promise<{ token: number } | undefined>
  release(name: string, owner: string): Promise<void>
}
