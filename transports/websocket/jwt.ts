import { z } from 'zod'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { duration } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { isLoopback } from '../../src/lib/http.ts'
import { BY_PUBLIC_KEY, BY_SECRET, createTokenKeys, reasonForToken } from '../jwt.ts'
import { keyOfSecret, keysIn, publicKey, SECRET_ENCODINGS } from '../keys.ts'
import { secretsOf } from '../options.ts'

const texts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)])

/** Maximum clock tolerance: 10 minutes. */
const MAX_TOLERANCE_MS = 600_000
const MIN_SECRET_BYTES = 16

/** `jwt:` of a WebSocket gateway: keys, audience, and the claim with the client's name. */
export const jwtOptions = z
  .strictObject({
    jwks: z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .refine(
        (url) => url.startsWith('https:') || isLoopback(URL.parse(url)?.hostname ?? ''),
        'expected https://…; only on this machine it may be http',
      )
      .exactOptional()
      .describe('JWKS URL of the issuer. Fetched for the first token, then cached.'),
    secret: secretsOf('the secret that signs the tokens (HS256, HS384, HS512)')
      .exactOptional()
      .describe('The secret that signs the tokens (HS256, HS384, HS512); a list during a rotation.'),
    'secret-encoding': z.enum(SECRET_ENCODINGS).default('text').describe('Encoding of `secret`.'),
    'public-key': z.string().exactOptional().describe('Public key of the issuer: PEM, or DER in base64.'),
    audience: texts.exactOptional().describe('Accepted audiences (`aud`).'),
    issuer: texts.exactOptional().describe('Accepted issuers (`iss`).'),
    'name-claim': z.string().min(1).default('sub').describe("The claim with the client's identity."),
    tolerance: duration
      .refine((ms) => ms <= MAX_TOLERANCE_MS, 'expected at most 10m')
      .default(30_000)
      .describe('Clock tolerance.'),
  })
  .superRefine((options, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message, input: options })
    const { secret, jwks, audience } = options
    const key = options['public-key']
    const lengthOf = (text: string) =>
      attempt(() => keyOfSecret(text, options['secret-encoding']))?.length ?? 0
    if ([secret, jwks, key].filter((option) => option !== undefined).length !== 1)
      report('expected one of jwks, secret and public-key, to verify the tokens')
    if (jwks !== undefined && audience === undefined)
      report('jwks needs audience: an issuer signs tokens for others too')
    if (secret?.some((text) => lengthOf(text) < MIN_SECRET_BYTES))
      report('expected a secret of at least 16 bytes: shorter ones can be guessed')
    if (key !== undefined && attempt(() => publicKey(key)) === undefined)
      report('expected a public key in PEM or base64')
  })

export type JwtOptions = z.output<typeof jwtOptions>

/** A token's subject and expiry (Unix ms). */
export type TokenHolder = { subject: string; expiresAt: number }

/** A name without invisible characters. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,256}$/u
const MAX_TOKEN_LENGTH = 16_384

/**
 * Makes the token check, which returns the holder, or the reason for a refusal. Rejects with
 * `keys_unavailable` if the issuer's keys cannot be fetched. `cooldown`: pause (ms) between fetches
 * for an unknown key.
 */
export function createJwtCheck(
  options: JwtOptions,
  deps: { gateway: string; now(): number },
  cooldown = 5_000,
) {
  const { audience, issuer, tolerance } = options
  const keysOf = createTokenKeys(options.jwks, keysIn(options), cooldown)
  return async (token: string): Promise<TokenHolder | string> => {
    if (token.length > MAX_TOKEN_LENGTH) return 'its token is too long'
    const { jwtVerify, errors } = await import('jose')
    const rules = {
      ...(audience !== undefined && { audience }),
      ...(issuer !== undefined && { issuer }),
      algorithms: options.secret ? BY_SECRET : BY_PUBLIC_KEY,
      clockTolerance: tolerance / 1000,
      currentDate: new Date(deps.now()),
    }
    let reason = 'its token is malformed'
    for (const key of await keysOf()) {
      try {
        // The library distinguishes functions from keys by type.
        const verified =
          typeof key === 'function' ? jwtVerify(token, key, rules) : jwtVerify(token, key, rules)
        const { payload } = await verified
        const subject = payload[options['name-claim']]
        if (typeof subject !== 'string' || !NAME.test(subject)) return 'its token has no valid name'
        if (payload.exp === undefined) return 'its token has no end (exp)'
        return { subject, expiresAt: payload.exp * 1000 + tolerance }
      } catch (error) {
        const isNetworkError = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout
        // The library uses the generic code for a response of the issuer that it cannot use.
        if (isNetworkError || error.code === 'ERR_JOSE_GENERIC') {
          const { gateway } = deps
          throw new TriviumError('keys_unavailable', { gateway, reason: reasonOf(error) }, { cause: error })
        }
        reason = reasonForToken(error, deps.now())
      }
    }
    return reason
  }
}
