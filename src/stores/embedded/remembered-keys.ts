import { hash as digest } from 'node:crypto'
import { hexOf, timeOf } from '../../core/message-id.ts'
import { WEEK } from '../shared/values.ts'
import { createKeyBatches } from './key-batches.ts'
import { BUCKETS, createKeyBuckets } from './key-buckets.ts'
import { createKeyIndex } from './key-index.ts'
import { createKeyList } from './key-list.ts'
import type { Sql } from './sql.ts'
import type { Writer } from './writer.ts'

/**
 * `lastRow`, `lastOfRound`: the last number, now and at the start of this round. `next`: the next bucket to move. `cut`: the last
 * number moved by the previous round.
 */
type Progress = { lastRow: number; next: number; lastOfRound: number; cut: number }

/**
 * Idempotency keys of messages, events and jobs, kept for seven days with the id they produced.
 *
 * Random inserts into a B-tree dirty a page per key, which costs as much as the rest of accepting a message. So a transaction
 * appends its new keys to the table `key_batch` as one row, and keeps them in memory. Once `capacity` keys are in memory, each
 * transaction moves some buckets to the table `key_index`, where the keys of a bucket are adjacent and share pages. After all
 * buckets have moved, the rows from before that round are removed.
 */
export function createRememberedKeys(sql: Sql, writer: Writer, capacity = 262_144) {
  const list = createKeyList()
  const batches = createKeyBatches(sql, list)
  const buckets = createKeyBuckets(capacity, list)
  const index = createKeyIndex(sql)
  let at: Progress = { lastRow: 0, next: 0, lastOfRound: 0, cut: 0 }
  /** State before this transaction, for a rollback. */
  let before = at

  at.lastRow = at.lastOfRound = batches.load((n) => put(list.hash(n), n))
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
    // Four times the new keys, so that memory returns to `capacity` after each start. A transaction ends at most one round.
    const added = at.lastRow - before.lastRow
    const share = buckets.size() > capacity ? Math.ceil((added * 4 * BUCKETS) / capacity) : 0
    const end = Math.min(at.next + share, BUCKETS)
    while (at.next < end) {
      for (const row of buckets.take(at.next)) index.add(list.hash(row), list.id(row))
      at.next++
    }
    if (at.next < BUCKETS) return
    batches.remove(at.lastOfRound)
    at = { ...at, next: 0, cut: at.lastOfRound, lastOfRound: at.lastRow }
  }

  /** A key that does not fit into its bucket goes to the index directly. */
  function put(hash: Buffer, row: number): void {
    if (!buckets.put(hash, row)) index.add(list.hash(row), list.id(row))
  }

  function stored(hash: Buffer): Uint8Array | undefined {
    const row = buckets.find(hash)
    return row === undefined ? index.find(hash) : list.id(row)
  }

  return {
    hash,
    /** The id that a key produced, if it is younger than seven days at `now`. */
    find: (hash: Buffer, now: number): string | undefined => {
      const bytes = stored(hash)
      const id = bytes && toId(bytes)
      return id && timeOf(id) > now - WEEK ? id : undefined
    },
    /** Inside a transaction only. */
    remember: (hash: Buffer, id: string): void => {
      at.lastRow++
      list.put(at.lastRow, hash, hexOf(id))
      put(hash, at.lastRow)
    },
    /** Removes expired keys from a slice of the index. Returns their number, or 0 if few. Only inside a transaction. */
    sweep: index.sweep,
  }
}

/** The hash of a key: SHA-256, cut to 128 bits. JSON keeps the parts apart. */
function hash(kind: 'message' | 'event' | 'job', space: string, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(16)
  // As text: a buffer per digest costs three times as much as the digest.
  bytes.write(digest('sha256', JSON.stringify([kind, space, key]), 'latin1'), 0, 16, 'latin1')
  return bytes
}

function toId(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
