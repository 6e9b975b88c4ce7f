import type { KeyList } from './key-list.ts'

/** Number of buckets, selected by the first 12 bits of the hash. */
export const BUCKETS = 4_096

/**
 * The numbers of new keys in memory, in buckets by hash. `keep` and `rollBack` end a transaction.
 * `rollBack` restores the changed counts, because rereading the keys would take a second.
 */
export function createKeyBuckets(capacity: number, list: KeyList) {
  /** Capacity of a bucket, twice its expected size. */
  const room = Math.ceil((2 * capacity) / BUCKETS)
  const counts = new Uint32Array(BUCKETS)
  /** For each new key, oldest first within its bucket: another 16 bits of its hash. */
  const bits = new Uint16Array(BUCKETS * room)
  /** For each new key, in the same order: the low 32 bits of its number. */
  const lowRows = new Uint32Array(BUCKETS * room)
  let newest = 0
  /** The number at a place. Numbers in memory differ by far less than 2^32. */
  const rowAt = (at: number) => newest - ((newest - (lowRows[at] ?? 0)) >>> 0)
  const bucketOf = (hash: Buffer) => hash.readUInt16BE(0) >> 4
  const countOf = (bucket: number) => counts[bucket] ?? 0
  let size = 0
  let sizeBefore = 0
  /**
   * Pairs of numbers: a changed bucket, and its count before the change. A map that is cleared
   * again and again would grow in V8's old space.
   */
  let undo: number[] = []

  function setCount(bucket: number, count: number): void {
    undo.push(bucket, countOf(bucket))
    size += count - countOf(bucket)
    counts[bucket] = count
  }

  return {
    /** The bucket of a hash. */
    of: bucketOf,
    /** The number of keys. */
    size: () => size,
    /** Returns false if the bucket is full. */
    put(hash: Buffer, row: number): boolean {
      const bucket = bucketOf(hash)
      const count = countOf(bucket)
      if (count === room) return false
      bits[bucket * room + count] = hash.readUInt16LE(8)
      lowRows[bucket * room + count] = row
      newest = Math.max(newest, row)
      setCount(bucket, count + 1)
      return true
    },
    /** The number of the key with a hash. */
    find(hash: Buffer): number | undefined {
      const bucket = bucketOf(hash)
      const start = bucket * room
      const wanted = hash.readUInt16LE(8)
      // Newest first: a key reused after seven days may exist twice.
      for (let at = start + countOf(bucket) - 1; at >= start; at--) {
        if (bits[at] !== wanted) continue
        const row = rowAt(at)
        if (list.isOf(row, hash)) return row
      }
      return undefined
    },
    /** Empties a bucket. Returns its numbers. */
    take(bucket: number): number[] {
      const taken = Array.from({ length: countOf(bucket) }, (_, index) => rowAt(bucket * room + index))
      setCount(bucket, 0)
      return taken
    },
    keep(): void {
      sizeBefore = size
      undo = []
    },
    rollBack(): void {
      while (undo.length > 0) {
        const [bucket = 0, count = 0] = undo.splice(-2)
        counts[bucket] = count
      }
      size = sizeBefore
    },
  }
}
