import { hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { JWTVerifyGetKey } from 'jose'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { JwtOptions } from './jwt-options.ts'
import { keyOfSecret, publicKey } from './keys.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'

/** By the kind of key: a public key must never be taken for the secret of an HMAC. */
const BY_SECRET = ['HS256', 'HS384', 'HS512']
const BY_PUBLIC_KEY = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')
/** Ms to wait for the keys of an issuer, and between two fetches for a key that it did not have. */
const [WITHIN, COOLDOWN] = [5_000, 30_000]

/** Makes the check of tokens. Rejects with `keys_unavailable` where the keys of the issuer cannot be fetched. */
export function createJwtCheck(options: JwtOptions, { gateway, now }: VerifierDeps) {
  const { audience, issuer, tolerance, claims = {} } = options
  const bodyHash = options['body-hash']
  const keysOf = createKeys(options)
  return async ({ headers, raw }: Delivery): Promise<string | undefined> => {
    const token = tokenIn(headers, options.header)
    if (token === undefined) return `the header ${options.header} has no token`
    const { jwtVerify, errors } = await import('jose')
    const rules = {
      ...(audience !== undefined && { audience }),
      ...(issuer !== undefined && { issuer }),
      algorithms: options.secret ? BY_SECRET : BY_PUBLIC_KEY,
      clockTolerance: tolerance / 1000,
      currentDate: new Date(now()),
    }
    let reason: string | undefined
    for (const key of await keysOf()) {
      try {
        // By its type the library tells a function from a key.
        const verified =
          typeof key === 'function' ? jwtVerify(token, key, rules) : jwtVerify(token, key, rules)
        const { payload } = await verified
        if (payload.exp === undefined && bodyHash === undefined) {
          const age = payload.iat === undefined ? undefined : now() - payload.iat * 1000
          if (age === undefined) return 'its token says neither when it ends nor when it was issued'
          if (age > tolerance) return `its token was issued ${Math.round(age / 1000)} s ago and says no end`
        }
        const wrong = Object.entries(claims).find(([name, value]) => payload[name] !== value)
        if (wrong) return `the claim ${wrong[0]} of its token is not the expected one`
        if (bodyHash !== undefined && !isHashOf(raw, payload[bodyHash])) return 'its token is of another body'
        return undefined
      } catch (error) {
        if (error instanceof TriviumError) throw error
        const isFetch = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout
        if (isFetch || error.code === 'ERR_JOSE_GENERIC')
          throw new TriviumError('keys_unavailable', { gateway, reason: reasonOf(error) }, { cause: error })
        reason = reasonFor(error, now())
      }
    }
    return reason
  }
}

type Keys = () => Promise<(KeyObject | Uint8Array | JWTVerifyGetKey)[]>

function createKeys({ jwks, secret = [], ...options }: JwtOptions): Keys {
  const known = secret.map((text) => keyOfSecret(text, options['secret-encoding']))
  if (options['public-key'] !== undefined) return async () => [publicKey(options['public-key'] ?? '')]
  if (jwks === undefined) return async () => known
  let remote: JWTVerifyGetKey | undefined
  return async () => {
    const { createRemoteJWKSet } = await import('jose')
    remote ??= createRemoteJWKSet(new URL(jwks), { timeoutDuration: WITHIN, cooldownDuration: COOLDOWN })
    return [remote]
  }
}

function tokenIn(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  const [, token] =
    /^(?:bearer +)?([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(typeof value === 'string' ? value : '') ?? []
  return token
}

function isHashOf(raw: Buffer, given: unknown): boolean {
  const expected = hash('sha256', raw, 'buffer')
  const claimed = Buffer.from(String(given), /^[\da-f]{64}$/i.test(String(given)) ? 'hex' : 'base64')
  return claimed.length === expected.length && timingSafeEqual(claimed, expected)
}

/** In words that name no expected value: a stranger reads them too. */
function reasonFor(error: { code: string; claim?: string; payload?: { exp?: number } }, now: number): string {
  switch (error.code) {
    case 'ERR_JWT_EXPIRED': {
      const { exp = 0 } = error.payload ?? {}
      return `its token ended ${Math.max(0, Math.round(now / 1000 - exp))} s ago: compare the clocks`
    }
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      return `the claim ${error.claim} of its token is not the expected one`
    case 'ERR_JWKS_NO_MATCHING_KEY':
      return 'its token is signed by a key that the issuer does not publish'
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return 'its token is signed by an algorithm that is not taken here'
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return 'the signature of its token does not match: another secret or key'
    default:
      return 'its token is malformed'
  }
}
