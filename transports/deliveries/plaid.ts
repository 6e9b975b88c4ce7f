import { hash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { DAY, duration, MINUTE } from '../../src/core/units.ts'
import { putLast } from '../../src/lib/put-last.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { reasonForToken } from '../jwt.ts'
import { secretsOf } from '../options.ts'
import type { Verifier, VerifierDeps } from './verifier-types.ts'

/**
 * `verify: { scheme: plaid }`: a token. The credentials of the account are needed to get its key
 * from Plaid.
 */
export const plaid = z.strictObject({
  scheme: z.literal('plaid'),
  'client-id': z
    .string({ error: 'missing key "client-id": the client_id of your Plaid account' })
    .regex(/^\w+$/, 'expected the client_id of your Plaid account')
    .describe('The `client_id` of your Plaid account.'),
  secret: secretsOf('the secret of your Plaid account for this environment').describe(
    'The secret of your Plaid account for this environment. During a rotation a list; the first that Plaid accepts is used.',
  ),
  environment: z.enum(['production', 'sandbox']).default('production').describe('The environment at Plaid.'),
  tolerance: duration
    .default(5 * MINUTE)
    .describe('Accepted difference between the time of a token and now (replay window).'),
})

const TIMEOUT_MS = 5_000
/** Plaid has a few keys. */
const MAX_KEYS = 20
/** Limits the requests for keys. */
const RATE = { count: 20, per: MINUTE }
const KEY_ID = /^[\w-]{1,100}$/

const keyAnswer = z.object({
  key: z.looseObject({ kty: z.literal('EC'), expired_at: z.number().nullish() }),
})
type PlaidKey = z.output<typeof keyAnswer>['key']

/** Creates the verifier, as https://plaid.com/docs/api/webhooks/webhook-verification describes. */
export function createPlaidVerifier(options: z.output<typeof plaid>, deps: VerifierDeps): Verifier {
  const { now } = deps
  const keyOf = createKeys(options, deps)
  return {
    async check({ headers, raw }) {
      const token = headers['plaid-verification']
      if (typeof token !== 'string') return 'the header plaid-verification is missing'
      const { decodeProtectedHeader, errors, importJWK, jwtVerify } = await import('jose')
      try {
        const { kid = '' } = decodeProtectedHeader(token)
        if (!KEY_ID.test(kid)) return 'its token names no key'
        const key = await keyOf(kid)
        if (!key) return 'its token is signed by a key that Plaid does not know'
        if (key.expired_at && key.expired_at * 1000 < now()) return 'the key of its token has expired'
        const { payload } = await jwtVerify(token, await importJWK({ ...key, alg: 'ES256' }), {
          algorithms: ['ES256'],
          // 0: the tolerance alone is the maximum age. It also allows tokens from the future, which
          // a clock behind Plaid's sees.
          maxTokenAge: 0,
          clockTolerance: options.tolerance / 1000,
          currentDate: new Date(now()),
        })
        return isHashOf(raw, payload.request_body_sha256) ? undefined : 'its token belongs to another body'
      } catch (error) {
        if (error instanceof errors.JOSEError) return reasonForToken(error, now())
        if (error instanceof TriviumError) throw error
        return 'its token is malformed'
      }
    },
  }
}

/**
 * Creates the lookup of Plaid's keys by id. Keeps each answer for a day, also that an id has no
 * key. The lookup throws `keys_unavailable`.
 */
function createKeys(options: z.output<typeof plaid>, { gateway, now }: VerifierDeps) {
  const keys = new Map<string, { at: number; key: PlaidKey }>()
  // Separate from `keys`, because strangers can name many unknown ids, which would displace keys.
  const unknown = new Map<string, { at: number; key?: never }>()
  const takeToken = createTokenBucket(RATE, now)
  const address = `https://${options.environment}.plaid.com/webhook_verification_key/get`

  async function fetchKey(id: string, secret: string): Promise<PlaidKey | undefined> {
    const response = await fetch(address, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: options['client-id'], secret, key_id: id }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const answer: unknown = await response.json().catch(() => undefined)
    if (response.ok) return keyAnswer.parse(answer).key
    const { error_code: code } = z
      .looseObject({ error_code: z.string().catch('') })
      .catch({ error_code: '' })
      .parse(answer)
    if (code === 'INVALID_WEBHOOK_VERIFICATION_KEY_ID') return undefined
    throw new Error(`Plaid answered ${response.status} ${code}`.trim())
  }

  return async (id: string): Promise<PlaidKey | undefined> => {
    const cached = keys.get(id) ?? unknown.get(id)
    if (cached && now() - cached.at < DAY) return cached.key
    if (takeToken() > 0)
      throw new TriviumError('keys_unavailable', { gateway, reason: 'too many keys were requested' })
    let failure: unknown
    for (const secret of options.secret) {
      try {
        const key = await fetchKey(id, secret)
        if (key) putLast(keys, id, { at: now(), key }, MAX_KEYS)
        else putLast(unknown, id, { at: now() }, MAX_KEYS)
        return key
      } catch (error) {
        failure = error
      }
    }
    throw new TriviumError('keys_unavailable', { gateway, reason: reasonOf(failure) }, { cause: failure })
  }
}

function isHashOf(raw: Buffer, given: unknown): boolean {
  const expected = Buffer.from(hash('sha256', raw))
  const claimed = Buffer.from(String(given))
  return claimed.length === expected.length && timingSafeEqual(claimed, expected)
}
