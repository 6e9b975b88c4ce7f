import { hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { createHmac } from './hmac.ts'

export type Algorithm = Parameters<typeof createHmac>[1]

/** Stands for the secret in a signed text. Each key is inserted there in turn. */
export const SECRET_PLACE = Buffer.from('{secret}')

/**
 * Whether one of the signatures was made with the key. Must be fast: strangers may send thousands
 * of signatures.
 */
export type HasSignature = (signatures: readonly string[], signed: readonly Buffer[]) => boolean

/**
 * Maximum number of signatures to check: each check costs up to 0.2 ms, and senders have fewer
 * keys.
 */
const MAX_PUBLIC_KEY_CHECKS = 10

/** Checks signatures that were made with the private key. */
export function byPublicKey(key: KeyObject, algorithm: string, encoding: BufferEncoding): HasSignature {
  // Ed25519 has its hash built in.
  const digest = key.asymmetricKeyType === 'ed25519' ? null : algorithm
  return (signatures, signed) => {
    const text = Buffer.concat(signed)
    return signatures
      .slice(0, MAX_PUBLIC_KEY_CHECKS)
      .some((signature) => verify(digest, text, key, Buffer.from(signature, encoding)))
  }
}

/** Checks HMACs with the key. */
export function byHmac(key: Buffer, algorithm: Algorithm, encoding: BufferEncoding): HasSignature {
  const hmac = createHmac(key, algorithm)
  const decoded = Buffer.alloc(hmac([]).length)
  return (signatures, signed) => {
    const expected = hmac(signed.includes(SECRET_PLACE) ? withSecret(signed, key) : signed)
    return signatures.some((signature) => isSame(signature, encoding, expected, decoded))
  }
}

/** Checks plain hashes of the text, which contains the key at `SECRET_PLACE`. */
export function byHash(key: Buffer, algorithm: Algorithm, encoding: BufferEncoding): HasSignature {
  return (signatures, signed) => {
    const expected = hash(algorithm, Buffer.concat(withSecret(signed, key)), 'buffer')
    const decoded = Buffer.alloc(expected.length)
    return signatures.some((signature) => isSame(signature, encoding, expected, decoded))
  }
}

/**
 * Whether an encoded signature is the expected one, in constant time. `decoded`: a buffer of the
 * same size.
 */
function isSame(signature: string, encoding: BufferEncoding, expected: Buffer, decoded: Buffer): boolean {
  const hasSize =
    Buffer.byteLength(signature, encoding) === decoded.length &&
    decoded.write(signature, encoding) === decoded.length
  return hasSize && timingSafeEqual(decoded, expected)
}

function withSecret(signed: readonly Buffer[], key: Buffer): Buffer[] {
  return signed.map((part) => (part === SECRET_PLACE ? key : part))
}
