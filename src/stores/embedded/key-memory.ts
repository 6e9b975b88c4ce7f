import { createKeyBatches } from './key-batches.ts'
import { BUCKETS, createKeyBuckets } from './key-buckets.ts'
import { createKeyIndex } from './key-index.ts'
import { createKeyList } from './key-list.ts'
import type { Sql } from './sql.ts'
import type { Writer } from './writer.ts'

/** How far the move of keys to the index has come. Each key has a number, in ascending order. */
type Progress = {
  /** The number of the newest key. */
  lastRow: number
  /** The next bucket to move; 0 between rounds. */
  next: number
  /** The number of the newest key at the start of the round. */
  lastOfRound: number
  /** The last number moved by the previous round. */
  cut: number
}

/**
 * Hashes of keys with the bytes of their ids, new ones in memory and the others in the table
 * `key_index`.
 *
 * Random inserts into a B-tree dirty a page per key, which costs as much as the rest of accepting a
 * message. So a transaction appends its new keys to the table `key_batch` as one row, and keeps
 * them in memory. Once `capacity` keys are in memory, a round begins: each transaction moves some
 * buckets to the index, where the keys of a bucket are adjacent and share pages. After all buckets
 * have moved, the rows from before that round are removed. So memory and `key_batch` hold at most
 * `capacity` keys, and those added during a round: a quarter of `capacity`.
 */
export function createKeyMemory(sql: Sql, writer: Writer, capacity: number) {
  const list = createKeyList()
  const batches = createKeyBatches(sql, list)
  const buckets = createKeyBuckets(capacity, list)
  const index = createKeyIndex(sql)
  const moveBucket = (bucket: number) => {
    for (const row of buckets.take(bucket)) index.add(list.hash(row), list.id(row))
  }
  // An earlier version may have left more keys than fit. One transaction moves them: alone, each
  // would flush a page.
  sql.run`BEGIN`
  const lastRow = batches.load((n) => {
    const hash = list.hash(n)
    if (buckets.put(hash, n)) return
    moveBucket(buckets.of(hash))
    buckets.put(hash, n)
  })
  sql.run`COMMIT`
  let at: Progress = { lastRow, next: 0, lastOfRound: 0, cut: 0 }
  /** State before this transaction, for a rollback. */
  let before = at

  const keep = () => {
    if (at.cut !== before.cut) list.cut(at.cut)
    before = { ...at }
    buckets.keep()
  }
  keep()

  writer.follow({
    beforeCommit: () => {
      index.fillFilter()
      batches.save(before.lastRow + 1, at.lastRow)
      moveBuckets()
    },
    committed: keep,
    rolledBack: () => {
      buckets.rollBack()
      at = before
      keep()
    },
  })

  function moveBuckets(): void {
    if (at.next === 0) {
      if (buckets.size() <= capacity) return
      at.lastOfRound = at.lastRow
    }
    // About four keys for each new one, so that a round ends soon. At most one round ends here.
    const added = at.lastRow - before.lastRow
    const end = Math.min(at.next + Math.ceil((added * 4 * BUCKETS) / capacity), BUCKETS)
    while (at.next < end) {
      moveBucket(at.next)
      at.next++
    }
    if (end < BUCKETS) return
    batches.remove(at.lastOfRound)
    at = { ...at, next: 0, cut: at.lastOfRound }
  }

  return {
    /** The bytes of the id that a key produced. */
    find(hash: Buffer): Uint8Array | undefined {
      const row = buckets.find(hash)
      return row === undefined ? index.find(hash) : list.id(row)
    },
    /** Inside a transaction only. `hexId`: the hex digits of the id. */
    put(hash: Buffer, hexId: string): void {
      at.lastRow++
      list.put(at.lastRow, hash, hexId)
      // A full bucket must keep its keys until the commit, so this one goes to the index directly.
      if (!buckets.put(hash, at.lastRow)) index.add(list.hash(at.lastRow), list.id(at.lastRow))
    },
    /**
     * Removes expired keys from a slice of the index. Only inside a transaction.
     */
    sweep: index.sweep,
  }
}
