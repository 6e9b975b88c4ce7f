import { hash } from 'node:crypto'

/**
 * Makes the HMAC (RFC 2104) by a key, of two digests in buffers that stay: objects for each message cost more than what they do. What it
 * returns is overwritten by the next call.
 */
export function createHmac(key: Buffer, algorithm: 'sha256' | 'sha1' | 'sha384' | 'sha512') {
  const size = hash(algorithm, key, 'buffer').length
  const block = Buffer.alloc(/^sha(384|512)$/.test(algorithm) ? 128 : 64)
  block.set(key.length > block.length ? hash(algorithm, key, 'buffer') : key)
  const inner = block.map((byte) => byte ^ 0x36)
  const outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(size)])
  const result = Buffer.alloc(size)
  return (signed: readonly Uint8Array[]): Buffer => {
    outer.write(hash(algorithm, Buffer.concat([inner, ...signed]), 'binary'), block.length, 'binary')
    result.write(hash(algorithm, outer, 'binary'), 'binary')
    return result
  }
}
