import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { attempt } from './attempt.ts'

const CIPHER = 'aes-256-gcm'
/** Bytes of the initialisation vector. */
const IV_LENGTH = 12
/** Bytes of the authentication tag. */
const TAG_LENGTH = 16
/** Bytes of the key. */
const KEY_LENGTH = 32

/**
 * Encrypts values for the store (AES-256-GCM). The key is derived from a secret of routes.yaml and
 * the `purpose`.
 */
export function createVault(secret: string, purpose: string) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', purpose, KEY_LENGTH))
  return {
    /** Returns the initialisation vector, the tag and the encrypted text, in base64. */
    encrypt(text: string): string {
      const iv = randomBytes(IV_LENGTH)
      const cipher = createCipheriv(CIPHER, key, iv)
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
    },
    /**
     * The inverse of `encrypt`. Undefined for values that were encrypted with another secret or
     * purpose, or were changed.
     */
    decrypt(stored: string): string | undefined {
      const bytes = Buffer.from(stored, 'base64')
      return attempt(() => {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_LENGTH), {
          authTagLength: TAG_LENGTH,
        })
        decipher.setAuthTag(bytes.subarray(IV_LENGTH, IV_LENGTH + TAG_LENGTH))
        return Buffer.concat([
          decipher.update(bytes.subarray(IV_LENGTH + TAG_LENGTH)),
          decipher.final(),
        ]).toString('utf8')
      })
    },
  }
}
