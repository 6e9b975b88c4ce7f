import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { KeyValues, Leases } from '../../src/core/store.ts'
import type { OAuth2Options } from './options.ts'

/**
 * The newest refresh token of a login whose provider hands out a new one with each use and ends the old one. All
 * daemons of a store, and all gateways with this login, share it.
 */
export type RefreshTokens = {
  /**
   * Runs `work` while no other daemon renews this login: two that use one token at once would end it for both. Throws
   * where the other does not come to an end.
   */
  alone<T>(work: () => Promise<T>): Promise<T>
  /** The token that took the place of the configured one, if any did. */
  load(): Promise<string | undefined>
  /** Durable when it resolves. */
  save(token: string): Promise<void>
  /** Back to the configured token. */
  forget(): Promise<void>
}

/** Longer than a renewal may take (see oauth.ts); after that a daemon that died in one stands in nobody's way. */
const LEASE = 25_000
const LOOK = 100
/** No longer, so that a mailbox can be stopped; whoever reads it tries again. */
const PATIENCE = 10_000
/** Written anew with each renewal. A login that nobody uses for so long has ended anywhere. */
const KEEP = 400 * 86_400_000

/**
 * Keeps the token on the store, under a hash of the configured login and encrypted with a key that only its holder
 * has: another token in routes.yaml is another login, which begins afresh, and no copy of the store opens a mailbox.
 */
export function createRefreshTokens(
  { kv, leases }: { kv: KeyValues; leases: Leases },
  login: OAuth2Options,
): RefreshTokens {
  const name = `email-oauth2/${nameOf(login)}`
  const owner = randomUUID()
  const secret = keyOf(login)
  return {
    async alone(work) {
      for (const end = performance.now() + PATIENCE; !(await leases.acquire(name, owner, LEASE)); ) {
        if (performance.now() > end)
          throw new Error('another daemon renews the OAuth2 token; it is tried again')
        await pause(LOOK)
      }
      try {
        return await work()
      } finally {
        // A store that is away just now: the lease ends by itself.
        await leases.release(name, owner).catch(() => {})
      }
    },
    async load() {
      const found = await kv.get(name)
      return typeof found?.value === 'string' ? decrypt(found.value, secret) : undefined
    },
    async save(token) {
      await kv.set(name, encrypt(token, secret), { ttl: KEEP })
    },
    async forget() {
      await kv.delete(name)
    },
  }
}

/** Says nothing about the token, and is another one for another. */
function nameOf(login: OAuth2Options): string {
  const parts = [login['token-url'], login['client-id'], login['refresh-token']]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

function keyOf(login: OAuth2Options): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', login['refresh-token'], '', 'trivium email refresh token', 32))
}

const CIPHER = 'aes-256-gcm'
const IV = 12
const TAG = 16

function encrypt(token: string, key: Uint8Array): string {
  const iv = randomBytes(IV)
  const cipher = createCipheriv(CIPHER, key, iv)
  const body = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
}

/** Undefined for what was not written here: then the configured token must do. */
function decrypt(stored: string, key: Uint8Array): string | undefined {
  const bytes = Buffer.from(stored, 'base64')
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV), { authTagLength: TAG })
    decipher.setAuthTag(bytes.subarray(IV, IV + TAG))
    return Buffer.concat([decipher.update(bytes.subarray(IV + TAG)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
