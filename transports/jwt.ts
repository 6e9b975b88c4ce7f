import type { KeyObject } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'

/**
 * The accepted algorithms for tokens that are signed with a secret. Separate from those for public
 * keys, because a public key must never be used as an HMAC secret. `none` is not accepted.
 */
export const BY_SECRET = ['HS256', 'HS384', 'HS512']
/** The accepted algorithms for tokens that are verified with a public key. */
export const BY_PUBLIC_KEY = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

/** Timeout of the request for an issuer's keys. */
const TIMEOUT_MS = 5_000
/** After keys were fetched, a token with an unknown key causes no new request for this time. */
const COOLDOWN_MS = 30_000

export type TokenKey = KeyObject | Uint8Array
type TokenKeys = () => Promise<readonly (TokenKey | JWTVerifyGetKey)[]>

/**
 * Creates the source of keys for verification: `known`, or those published at `jwks`. Key URLs in
 * tokens are ignored.
 */
export function createTokenKeys(
  jwks: string | undefined,
  known: readonly TokenKey[],
  cooldown = COOLDOWN_MS,
): TokenKeys {
  if (jwks === undefined) return async () => known
  let remote: JWTVerifyGetKey | undefined
  return async () => {
    const { createRemoteJWKSet } = await import('jose')
    remote ??= createRemoteJWKSet(new URL(jwks), { timeoutDuration: TIMEOUT_MS, cooldownDuration: cooldown })
    return [remote]
  }
}

/** Why a token is invalid. Contains no expected values, because strangers see the text. */
export function reasonForToken(
  /** An error of jose. */
  error: { code: string; claim?: string; payload?: { exp?: number } },
  now: number,
): string {
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
      return 'its token uses an algorithm that is not accepted'
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return 'the signature of its token does not match: another secret or key'
    default:
      return 'its token is malformed'
  }
}
