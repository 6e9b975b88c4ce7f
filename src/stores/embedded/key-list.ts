/** Bytes per key: its hash and the id it produced, 16 bytes each. */
const KEY_BYTES = 32

/** Keys per chunk, which is allocated and written in one piece. */
const CHUNK = 1_024

export type KeyList = ReturnType<typeof createKeyList>

/** Idempotency keys in memory, by ascending number. The oldest are removed. */
export function createKeyList() {
  const chunks = new Map<number, Buffer>()
  const chunkOf = (n: number) => {
    const number = Math.floor(n / CHUNK)
    const known = chunks.get(number)
    if (known) return known
    const made = Buffer.allocUnsafeSlow(CHUNK * KEY_BYTES)
    chunks.set(number, made)
    return made
  }
  const start = (n: number) => (n % CHUNK) * KEY_BYTES

  return {
    /** `hexId`: the hex digits of the id. */
    put(n: number, hash: Uint8Array, hexId: string): void {
      const chunk = chunkOf(n)
      chunk.set(hash, start(n))
      chunk.write(hexId, start(n) + 16, 16, 'hex')
    },
    /** Restores consecutive keys from the bytes of `slice`. */
    restore(first: number, bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length; at += KEY_BYTES) {
        const n = first + at / KEY_BYTES
        chunkOf(n).set(bytes.subarray(at, at + KEY_BYTES), start(n))
      }
    },
    isOf: (n: number, hash: Buffer) => hash.compare(chunkOf(n), start(n), start(n) + 16) === 0,
    hash: (n: number) => chunkOf(n).subarray(start(n), start(n) + 16),
    id: (n: number) => chunkOf(n).subarray(start(n) + 16, start(n) + KEY_BYTES),
    /** The bytes of the keys from a number to the end of its chunk, and the last number in them. */
    slice(first: number, end: number): { bytes: Buffer; last: number } {
      const last = Math.min(end, first + CHUNK - 1 - (first % CHUNK))
      return { bytes: chunkOf(first).subarray(start(first), start(last) + KEY_BYTES), last }
    },
    /** Removes complete chunks up to a number. */
    cut(to: number): void {
      for (const number of chunks.keys()) if ((number + 1) * CHUNK - 1 <= to) chunks.delete(number)
    },
  }
}
