/**
 * A Bloom filter with one bit per hash in 4 MB: 3 % false positives at a million keys. Bits are
 * never cleared: a new key that has the bit of an expired one costs a needless lookup in the index.
 */
export function createKeyFilter() {
  const bytes = new Uint8Array(2 ** 22)
  // 22 bits of the hash choose the byte, and 3 more the bit. Any bits will do, as hashes are
  // uniform.
  const at = (hash: Uint8Array) => ((hash[4] ?? 0) << 14) | ((hash[5] ?? 0) << 6) | ((hash[6] ?? 0) >> 2)
  const bit = (hash: Uint8Array) => 1 << ((hash[7] ?? 0) & 7)
  return {
    add: (hash: Uint8Array) => {
      bytes[at(hash)] = (bytes[at(hash)] ?? 0) | bit(hash)
    },
    mayHave: (hash: Uint8Array) => ((bytes[at(hash)] ?? 0) & bit(hash)) !== 0,
  }
}
