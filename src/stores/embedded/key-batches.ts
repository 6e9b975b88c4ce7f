import type { KeyList } from './key-list.ts'
import type { Sql } from './sql.ts'

type Batch = { first: number; last: number; keys: Uint8Array }

/** The table `key_batch`: the keys of a list, in the order of their numbers. */
export function createKeyBatches(sql: Sql, list: KeyList) {
  return {
    /**
     * Restores the list, and calls `loaded` for the number of each key. Returns the last number, or
     * 0 without keys.
     */
    load(loaded: (n: number) => void): number {
      let end = 0
      for (const {
        first,
        last,
        keys,
      } of sql.iterate<Batch>`SELECT first, last, keys FROM key_batch ORDER BY first`) {
        list.restore(first, keys)
        for (let n = first; n <= last; n++) loaded(n)
        end = last
      }
      return end
    },
    /**
     * Appends the keys with these numbers, in as few rows as possible. Only inside a transaction.
     */
    save(from: number, to: number): void {
      let first = from
      while (first <= to) {
        const { bytes, last } = list.slice(first, to)
        sql.run`INSERT INTO key_batch (first, last, keys) VALUES (${first}, ${last}, ${bytes})`
        first = last + 1
      }
    },
    /** Removes the rows up to a number. Only inside a transaction. */
    remove(to: number): void {
      sql.run`DELETE FROM key_batch WHERE last <= ${to}`
    },
  }
}
