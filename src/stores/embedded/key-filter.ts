/** A Bloom filter of fixed size over hashes: what it does not know was surely never added. */
export type KeyFilter = {
  add(hash: Uint8Array): void
  mayHave(hash: Uint8Array): boolean
}

/**
 * 2^25 bits (4 MB) and three probes: of new keys, 1 in 1,500 is taken for known at a million keys, 1 in 5
 * at ten million. The hashes are SHA-256, so their bytes serve as the probes.
 */
export function createKeyFilter(bits = 25): KeyFilter {
  const words = new Uint32Array(2 ** (bits - 5))
  const probe = (hash: Uint8Array, at: number) => {
    const [a = 0, b = 0, c = 0, d = 0] = [hash[at], hash[at + 1], hash[at + 2], hash[at + 3]]
    return ((a << 24) | (b << 16) | (c << 8) | d) >>> (32 - bits)
  }
  return {
    add: (hash) => {
      for (let at = 4; at < 16; at += 4) {
        const bit = probe(hash, at)
        words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31))
      }
    },
    mayHave: (hash) => {
      for (let at = 4; at < 16; at += 4) {
        const bit = probe(hash, at)
        if (((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false
      }
      return true
    },
  }
}
