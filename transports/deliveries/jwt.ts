import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { BY_PUBLIC_KEY, BY_SECRET, createTokenKeys, reasonForToken } from '../jwt.ts'
import { keysIn } from '../keys.ts'
import { faultOfDetached } from './detached.ts'
import type { JwtOptions } from './jwt-options.ts'
import type { Delivery, VerifierDeps } from './verifier-types.ts'

/**
 * Creates the check of the token of a delivery. The check resolves with the reason of a refusal,
 * and undefined for a valid token. It rejects with `keys_unavailable` if the issuer's keys cannot
 * be fetched.
 */
export function createJwtCheck(options: JwtOptions, { gateway, now }: VerifierDeps) {
  const { audience, issuer, tolerance, claims = {} } = options
  const bodyHash = options['body-hash']
  const keysOf = createTokenKeys(options.jwks, keysIn(options))
  return async ({ headers, raw }: Delivery): Promise<string | undefined> => {
    const token = tokenIn(headers, options.header, options.detached)
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
        if (options.detached) {
          const { algorithms } = rules
          return await faultOfDetached(token, raw, key, { algorithms, tolerance, now: now() })
        }
        // The library has separate overloads for keys and functions.
        const verified =
          typeof key === 'function' ? jwtVerify(token, key, rules) : jwtVerify(token, key, rules)
        const { payload } = await verified
        if (payload.exp === undefined && bodyHash === undefined) {
          const age = payload.iat === undefined ? undefined : now() - payload.iat * 1000
          if (age === undefined) return 'its token has neither exp nor iat'
          if (age > tolerance) return `its token was issued ${Math.round(age / 1000)} s ago and has no exp`
        }
        const wrong = Object.entries(claims).find(([name, value]) => payload[name] !== value)
        if (wrong) return `the claim ${wrong[0]} of its token is not the expected one`
        if (bodyHash !== undefined && !isHashOf(raw, payload[bodyHash]))
          return 'its token belongs to another body'
        return undefined
      } catch (error) {
        if (error instanceof TriviumError) throw error
        const isNetworkError = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout
        // jose throws its generic error for a response that is not a JWKS.
        if (isNetworkError || error.code === 'ERR_JOSE_GENERIC')
          throw new TriviumError('keys_unavailable', { gateway, reason: reasonOf(error) }, { cause: error })
        reason = reasonForToken(error, now())
      }
    }
    return reason
  }
}

/** A token with its payload, also after `Bearer`. */
const TOKEN = /^(?:bearer +)?([\w-]+\.[\w-]+\.[\w-]+) *$/i
/** A token without its payload, which is the body. */
const DETACHED = /^([\w-]+\.\.[\w-]+) *$/

function tokenIn(headers: IncomingHttpHeaders, name: string, isDetached: boolean): string | undefined {
  const value = headers[name]
  return (isDetached ? DETACHED : TOKEN).exec(typeof value === 'string' ? value : '')?.[1]
}

function isHashOf(raw: Buffer, given: unknown): boolean {
  const expected = hash('sha256', raw, 'buffer')
  const claimed = Buffer.from(String(given), /^[\da-f]{64}$/i.test(String(given)) ? 'hex' : 'base64')
  return claimed.length === expected.length && timingSafeEqual(claimed, expected)
}
