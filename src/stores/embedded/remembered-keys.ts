import { hash as digest } from 'node:crypto'
import { hexOf, timeOf } from '../../core/message-id.ts'
import { WEEK } from '../shared/values.ts'
import { createKeyList } from './key-list.ts'
import type { Sql } from './sql.ts'
import type { Writer } from './writer.ts'

/** Number of in-memory buckets for new keys, selected by the first 12 bits of the hash. */
const BUCKETS = 4_096
/** Index rows per sweep, the number of expired ones that suggests more, and rows read into the filter per transaction. */
const [SWEEP, MANY, FILL] = [2_000, 100, 256]

type Hashed = { hash: Uint8Array }
type Made = { id: Uint8Array }
type Batch = { first: number; last: number; keys: Uint8Array }

/** The hash of a key: SHA-256, cut to 128 bits. JSON keeps the parts apart. */
function hash(kind: 'message' | 'event' | 'job', space: string, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(16)
  // As text: a buffer per digest costs three times as much as the digest.
  bytes.write(digest('sha256', JSON.stringify([kind, space, key]), 'latin1'), 0, 16, 'latin1')
  return bytes
}

/**
 * Idempotency keys of messages, events and jobs, kept for seven days with the id they produced.
 *
 * Random inserts into a B-tree dirty a page per key, which costs as much as the rest of accepting a message. So a transaction
 * appends its new keys to the table `key_batch` as one row, and keeps them in memory. Once `capacity` keys are in memory, each
 * transaction moves some buckets to the table `key_index`, where the keys of a bucket are adjacent and share pages. After all
 * buckets have moved, the rows from before that round are removed.
 */
export function createRememberedKeys(sql: Sql, writer: Writer, capacity = 262_144) {
  /** Capacity of a bucket, twice its expected size. Keys beyond it go to the index directly. */
  const room = Math.ceil((2 * capacity) / BUCKETS)
  const counts = new Uint32Array(BUCKETS)
  /** For each new key, oldest first within its bucket: another 32 bits of its hash, and its number. */
  const bits = new Int32Array(BUCKETS * room)
  const rows = new Float64Array(BUCKETS * room)
  const list = createKeyList()
  const bucketOf = (hash: Buffer) => hash.readUInt16BE(0) >> 4
  const countOf = (bucket: number) => counts[bucket] ?? 0
  /**
   * `size`: keys in buckets. `lastRow`, `lastOfRound`: last number, now and at the start of this round. `next`: the next bucket to
   * move. `cut`: the last number moved by the previous round.
   */
  let at = { size: 0, lastRow: 0, next: 0, lastOfRound: 0, cut: 0 }
  /** State before this transaction, for a rollback: rereading the keys would take a second. */
  let before = at
  const countsBefore = new Map<number, number>()
  let swept: Uint8Array = Buffer.alloc(0)
  const index = createFilter()
  /** The filter covers the index up to this hash; undefined: all of it. Until then, every lookup reads the index. */
  let filledTo: Uint8Array | undefined = Buffer.alloc(0)

  for (const {
    first,
    last,
    keys,
  } of sql.iterate<Batch>`SELECT first, last, keys FROM key_batch ORDER BY first`) {
    list.restore(first, keys)
    for (let n = first; n <= last; n++) put(list.hash(n), n)
    at.lastRow = at.lastOfRound = last
  }
  const keep = () => {
    if (at.cut !== before.cut) list.cut(at.cut)
    before = { ...at }
    countsBefore.clear()
  }
  keep()

  writer.follow({
    beforeCommit: () => {
      if (filledTo) filledTo = fill(filledTo)
      saveNew()
      // Four times the new keys, so that memory returns to `capacity` after each start. A transaction ends at most one round.
      const added = at.lastRow - before.lastRow
      const share = at.size > capacity ? Math.ceil((added * 4 * BUCKETS) / capacity) : 0
      for (const end = Math.min(at.next + share, BUCKETS); at.next < end; at.next++) {
        const start = at.next * room
        for (const row of rows.subarray(start, start + countOf(at.next))) move(row)
        setCount(at.next, 0)
      }
      if (at.next < BUCKETS) return
      sql.run`DELETE FROM key_batch WHERE last <= ${at.lastOfRound}`
      at = { ...at, next: 0, cut: at.lastOfRound, lastOfRound: at.lastRow }
    },
    committed: keep,
    rolledBack: () => {
      for (const [bucket, count] of countsBefore) counts[bucket] = count
      at = before
      keep()
    },
  })

  function saveNew(): void {
    let first = before.lastRow + 1
    while (first <= at.lastRow) {
      const { bytes, last } = list.slice(first, at.lastRow)
      sql.run`INSERT INTO key_batch (first, last, keys) VALUES (${first}, ${last}, ${bytes})`
      first = last + 1
    }
  }

  function put(hash: Buffer, row: number): void {
    const bucket = bucketOf(hash)
    const count = countOf(bucket)
    if (count === room) {
      move(row)
      return
    }
    bits[bucket * room + count] = hash.readInt32LE(8)
    rows[bucket * room + count] = row
    setCount(bucket, count + 1)
  }

  function setCount(bucket: number, count: number): void {
    if (!countsBefore.has(bucket)) countsBefore.set(bucket, countOf(bucket))
    at.size += count - countOf(bucket)
    counts[bucket] = count
  }

  /** Idempotent: after a crash a row may be moved again. */
  function move(row: number): void {
    const hash = list.hash(row)
    sql.run`INSERT OR REPLACE INTO key_index (hash, id) VALUES (${hash}, ${list.id(row)})`
    index.add(hash)
  }

  const slice = (after: Uint8Array, max: number) =>
    sql.all<Hashed>`SELECT hash FROM key_index WHERE hash > ${after} ORDER BY hash LIMIT ${max} + 0`

  function fill(after: Uint8Array): Uint8Array | undefined {
    const rows = slice(after, FILL)
    for (const { hash } of rows) index.add(hash)
    return rows.length < FILL ? undefined : rows.at(-1)?.hash
  }

  function stored(hash: Buffer) {
    const start = bucketOf(hash) * room
    const wanted = hash.readInt32LE(8)
    // Newest first: a key reused after seven days may exist twice.
    for (let at = start + countOf(bucketOf(hash)) - 1; at >= start; at--) {
      const row = rows[at] ?? 0
      if (bits[at] === wanted && list.isOf(row, hash)) return list.id(row)
    }
    if (!filledTo && !index.mayHave(hash)) return undefined
    return sql.get<Made>`SELECT id FROM key_index WHERE hash = ${hash}`?.id
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
    sweep: (now: number): number => {
      const end = slice(swept, SWEEP).at(-1)?.hash
      // An id starts with six bytes of time.
      const cutoff = Buffer.alloc(6)
      cutoff.writeUIntBE(Math.max(0, now - WEEK), 0, 6)
      const removed = end
        ? sql.run`DELETE FROM key_index WHERE hash > ${swept} AND hash <= ${end} AND substr(id, 1, 6) <= ${cutoff}`
        : 0
      swept = end ?? Buffer.alloc(0)
      return removed < MANY ? 0 : removed
    },
  }
}

/**
 * A Bloom filter with one bit per hash in 4 MB: 3 % false positives at a million keys. Entries are never removed, so swept keys cost
 * a useless index lookup.
 */
function createFilter() {
  const bytes = new Uint8Array(2 ** 22)
  const at = (hash: Uint8Array) => ((hash[4] ?? 0) << 14) | ((hash[5] ?? 0) << 6) | ((hash[6] ?? 0) >> 2)
  const bit = (hash: Uint8Array) => 1 << ((hash[7] ?? 0) & 7)
  return {
    add: (hash: Uint8Array) => {
      bytes[at(hash)] = (bytes[at(hash)] ?? 0) | bit(hash)
    },
    mayHave: (hash: Uint8Array) => ((bytes[at(hash)] ?? 0) & bit(hash)) !== 0,
  }
}

function toId(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
