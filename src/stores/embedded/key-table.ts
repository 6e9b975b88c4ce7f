/**
 * A set of hashes in fixed memory, eight bytes a slot: for each hash a fingerprint and the row of `key_tail`
 * that has all of it. Open addressing, by the leading bits of the hash, so that walking the slots visits
 * the hashes nearly sorted.
 */
export type KeyTable = {
  /** Rows whose hash may be this one; the caller compares the whole. */
  candidates(hash: Uint8Array): number[]
  /** Throws RangeError when all slots but one are taken. */
  add(hash: Uint8Array, row: number): void
  /** Takes back the newest `count` additions. */
  undo(count: number): void
  /** Forgets which additions are the newest: they can no longer be taken back. */
  keep(): void
  /** The rows in the next slots from a slot on, up to `max` of them, and the slot to go on from. */
  walk(slot: number, max: number): { rows: number[]; next: number; end: boolean }
  readonly size: number
}

/** `bits`: two to that power slots. `base`: every row is greater than it, by less than 2^32. */
export function createKeyTable(bits: number, base: number): KeyTable {
  const slots = 2 ** bits
  const fingerprints = new Uint32Array(slots)
  /** Row minus base; 0 for a free slot. */
  const rows = new Uint32Array(slots)
  let size = 0
  let newest: number[] = []

  const start = (hash: Uint8Array) => readUint32(hash, 0) >>> (32 - bits)
  return {
    get size() {
      return size
    },
    candidates: (hash) => {
      const fingerprint = readUint32(hash, 4)
      const found: number[] = []
      for (let slot = start(hash); rows[slot] !== 0; slot = (slot + 1) % slots) {
        if (fingerprints[slot] === fingerprint) found.push(base + (rows[slot] ?? 0))
      }
      return found
    },
    add: (hash, row) => {
      // One free slot ends every probe sequence.
      if (size >= slots - 1) throw new RangeError(`a table of ${slots} keys is full`)
      let slot = start(hash)
      while (rows[slot] !== 0) slot = (slot + 1) % slots
      fingerprints[slot] = readUint32(hash, 4)
      rows[slot] = row - base
      newest.push(slot)
      size++
    },
    undo: (count) => {
      // Newest first: then no probe sequence of an older hash runs through a freed slot.
      for (const slot of newest.splice(newest.length - count).reverse()) rows[slot] = 0
      size -= count
    },
    keep: () => {
      newest = []
    },
    walk: (from, max) => {
      const found: number[] = []
      let slot = from
      for (; slot < slots && found.length < max; slot++) {
        const row = rows[slot] ?? 0
        if (row !== 0) found.push(base + row)
      }
      return { rows: found, next: slot, end: slot >= slots }
    },
  }
}

function readUint32(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}
