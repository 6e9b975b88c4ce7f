import { hash as digest } from 'node:crypto'
import { hexOf, timeOf } from '../../core/message-id.ts'
import { WEEK } from '../shared/values.ts'
import { createKeyList } from './key-list.ts'
import type { Sql } from './sql.ts'
import type { Writer } from './writer.ts'

/** New keys are kept in so many buckets in memory, by the first 12 bits of their hash. */
const BUCKETS = 4_096
/** Rows of the index that one sweep looks at, so many of them expired that there are more, and rows that one transaction reads into the filter. */
const [SWEEP, MANY, FILL] = [2_000, 100, 256]

type Hashed = { hash: Uint8Array }
type Made = { id: Uint8Array }
type Batch = { first: number; last: number; keys: Uint8Array }

/** The hash of a key: SHA-256, cut to 128 bits. JSON keeps the parts apart. */
function hash(kind: 'message' | 'event' | 'job', space: string, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(16)
  // As text, because a buffer for each digest costs three times as much as the digest.
  bytes.write(digest('sha256', JSON.stringify([kind, space, key]), 'latin1'), 0, 16, 'latin1')
  return bytes
}

/**
 * Idempotency keys of messages, events and jobs, each for seven days, with the id of what it made.
 *
 * A random B-tree dirties a page for every key, which costs as much as everything else about a message. So the new keys of
 * a transaction are appended to the table `key_batch` as one row, and kept in memory. Once `capacity` keys are in memory,
 * each transaction moves some buckets of them to the table `key_index`: the keys of a bucket are neighbours there and share
 * pages. When every bucket was moved, the rows from before that round are removed.
 */
export function createRememberedKeys(sql: Sql, writer: Writer, capacity = 262_144) {
  /** Room of a bucket, twice what it should hold. A key that finds none goes to the index at once. */
  const room = Math.ceil((2 * capacity) / BUCKETS)
  const counts = new Uint32Array(BUCKETS)
  /** Of each new key, oldest first in its bucket: another 32 bits of its hash, and its number. */
  const bits = new Int32Array(BUCKETS * room)
  const rows = new Float64Array(BUCKETS * room)
  const list = createKeyList()
  const bucketOf = (hash: Buffer) => hash.readUInt16BE(0) >> 4
  const countOf = (bucket: number) => counts[bucket] ?? 0
  /**
   * How many keys are in buckets; the last number given, now and when this round of moves began; the bucket to move next;
   * the last number that the round before has moved.
   */
  let at = { size: 0, lastRow: 0, next: 0, lastOfRound: 0, cut: 0 }
  /** What this transaction has changed, as it was before: reading the keys again would take a second. */
  let before = at
  const countsBefore = new Map<number, number>()
  let swept: Uint8Array = Buffer.alloc(0)
  const index = createFilter()
  /** The filter has the index up to this hash. Undefined: it has all. Until then every look-up goes to the index. */
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
      // Four times what came in: memory gets back to `capacity` after each start. A transaction ends a round at most.
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

  /** After a crash a row may be moved again. */
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
    // The newest first: a key that was free again after seven days may be there twice.
    for (let at = start + countOf(bucketOf(hash)) - 1; at >= start; at--) {
      const row = rows[at] ?? 0
      if (bits[at] === wanted && list.isOf(row, hash)) return list.id(row)
    }
    if (!filledTo && !index.mayHave(hash)) return undefined
    return sql.get<Made>`SELECT id FROM key_index WHERE hash = ${hash}`?.id
  }

  return {
    hash,
    /** The id that the key made, if it is younger than seven days at `now`. */
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
    /** Removes expired keys from one slice of the index; returns how many, 0 where they are few. Inside a transaction only. */
    sweep: (now: number): number => {
      const end = slice(swept, SWEEP).at(-1)?.hash
      // The first six bytes of an id are its time.
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
 * A set that may know more than was added: one bit of 4 MB for a hash, so that 3 in 100 strangers are known at a million.
 * It forgets nothing: what was swept is asked of the index in vain.
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
