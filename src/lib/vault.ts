import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { attempt } from './attempt.ts'

const CIPHER = 'aes-256-gcm'
const IV = 12
const TAG = 16

/** Encrypts values for the store (AES-256-GCM). The key is derived from a secret of routes.yaml and the `purpose`. */
export function createVault(secret: string, purpose: string) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32))
  return {
    close(text: string): string {
      const iv = randomBytes(IV)
      const cipher = createCipheriv(CIPHER, key, iv)
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
    },
    /** Undefined for values sealed with another secret or purpose. */
    open(stored: string): string | undefined {
      const bytes = Buffer.from(stored, 'base64')
      return attempt(() => {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV), { authTagLength: TAG })
        decipher.setAuthTag(bytes.subarray(IV, IV + TAG))
        return Buffer.concat([decipher.update(bytes.subarray(IV + TAG)), decipher.final()]).toString('utf8')
      })
    },
  }
}
