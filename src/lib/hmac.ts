import { hash } from 'node:crypto'

/** Buffer for the padded key and common body sizes. */
const scratch = Buffer.allocUnsafeSlow(128 * 1024)

/** The constants `ipad` and `opad` of RFC 2104. */
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c
/** Maximum bytes of UTF-8 per unit of a string. */
const MOST_BYTES = 3

/**
 * Makes an HMAC function (RFC 2104). It computes two digests over reused buffers: allocating crypto
 * objects per message costs more than the digests. The next call overwrites the result.
 */
export function createHmac(key: Buffer, algorithm: 'sha256' | 'sha1' | 'sha384' | 'sha512') {
  const size = hash(algorithm, key, 'buffer').length
  // The key, padded to the block size of the hash function.
  const block = Buffer.alloc(/^sha(384|512)$/.test(algorithm) ? 128 : 64)
  block.set(key.length > block.length ? hash(algorithm, key, 'buffer') : key)
  const inner = block.map((byte) => byte ^ INNER_PAD)
  // With room for the inner digest.
  const outer = Buffer.concat([block.map((byte) => byte ^ OUTER_PAD), Buffer.alloc(size)])
  const result = Buffer.alloc(size)
  return (signed: readonly (Uint8Array | string)[]): Buffer => {
    outer.write(hash(algorithm, joined(inner, signed), 'binary'), block.length, 'binary')
    result.write(hash(algorithm, outer, 'binary'), 'binary')
    return result
  }
}

/** Concatenates the parts. The next call overwrites the result. */
function joined(first: Uint8Array, parts: readonly (Uint8Array | string)[]): Uint8Array {
  let length = first.length
  for (const part of parts) length += typeof part === 'string' ? part.length * MOST_BYTES : part.length
  if (length > scratch.length) return Buffer.concat([first, ...parts.map(bytesOf)])
  scratch.set(first)
  let end = first.length
  for (const part of parts) {
    if (typeof part === 'string') end += scratch.write(part, end)
    else {
      scratch.set(part, end)
      end += part.length
    }
  }
  return scratch.subarray(0, end)
}

function bytesOf(part: Uint8Array | string): Uint8Array {
  return typeof part === 'string' ? Buffer.from(part) : part
}
