import { KEY_TTL } from '../../core/lifetimes.ts'
import type { Trimmed } from '../../core/retention.ts'
import { createKeyFilter } from './key-filter.ts'
import type { Sql } from './sql.ts'

/** Rows per sweep. */
const SWEEP_SIZE = 2_000
/** With this many expired rows in a sweep, there are probably more. */
const MANY_EXPIRED = 100
/** Rows read into the filter per transaction. */
const FILL_SIZE = 256

type Hashed = { hash: Uint8Array }
type Made = { id: Uint8Array }

/**
 * The table `key_index`, behind a filter that keeps most new keys from being looked up in it.
 * Changes only inside a transaction.
 */
export function createKeyIndex(sql: Sql) {
  const filter = createKeyFilter()
  /**
   * The filter has the index up to this hash; undefined once it has all. Until then, every lookup
   * reads the index.
   */
  let filledTo: Uint8Array | undefined = Buffer.alloc(0)
  /** The last hash of the previous sweep. */
  let swept: Uint8Array = Buffer.alloc(0)

  const slice = (after: Uint8Array, max: number) =>
    sql.all<Hashed>`SELECT hash FROM key_index WHERE hash > ${after} ORDER BY hash LIMIT ${max} + 0`

  return {
    /** Idempotent: after a crash a key may be added again. */
    add(hash: Uint8Array, id: Uint8Array): void {
      sql.run`INSERT OR REPLACE INTO key_index (hash, id) VALUES (${hash}, ${id})`
      filter.add(hash)
    },
    find(hash: Uint8Array): Uint8Array | undefined {
      if (!filledTo && !filter.mayHave(hash)) return undefined
      return sql.get<Made>`SELECT id FROM key_index WHERE hash = ${hash}`?.id
    },
    /** Reads some more of the index into the filter, until all of it is there. */
    fillFilter(): void {
      if (!filledTo) return
      const rows = slice(filledTo, FILL_SIZE)
      for (const { hash } of rows) filter.add(hash)
      filledTo = rows.length < FILL_SIZE ? undefined : rows.at(-1)?.hash
    },
    /** Removes expired keys from a slice of the index. */
    sweep(now: number): Trimmed {
      const end = slice(swept, SWEEP_SIZE).at(-1)?.hash
      // An id starts with six bytes of time.
      const cutoff = Buffer.alloc(6)
      cutoff.writeUIntBE(Math.max(0, now - KEY_TTL), 0, 6)
      const removed = end
        ? sql.run`DELETE FROM key_index WHERE hash > ${swept} AND hash <= ${end} AND substr(id, 1, 6) <= ${cutoff}`
        : 0
      swept = end ?? Buffer.alloc(0)
      return { removed, more: removed >= MANY_EXPIRED }
    },
  }
}
