import type { FlattenedJWSInput, JWTVerifyGetKey } from 'jose'
import { isJsonObject, type JsonObject, parseJson } from '../../src/core/json.ts'
import type { TokenKey } from '../jwt.ts'

/** How a detached signature is checked: `now` and `tolerance` in ms. */
type Rules = { algorithms: string[]; tolerance: number; now: number }

/**
 * Verifies the detached signature of a body (RFC 7515, appendix F: `HEADER..SIGNATURE`). The body
 * may be signed without base64 (RFC 7797). Resolves with the reason of a refusal, and undefined if
 * the signature is valid. Rejects with an error of jose if the signature does not match.
 */
export async function faultOfDetached(
  token: string,
  raw: Buffer,
  key: TokenKey | JWTVerifyGetKey,
  { algorithms, tolerance, now }: Rules,
): Promise<string | undefined> {
  const { flattenedVerify } = await import('jose')
  const [written = '', , signature = ''] = token.split('.')
  const header = headerIn(written)
  const payload = header.b64 === false ? raw : raw.toString('base64url')
  const jws: FlattenedJWSInput = { protected: written, payload, signature }
  if (typeof key === 'function') {
    const { alg = '' } = header
    await flattenedVerify(jws, (given, input) => key({ ...given, alg: String(alg) }, input), { algorithms })
  } else await flattenedVerify(jws, key, { algorithms })
  const time = header.iat ?? header.ts
  if (typeof time !== 'number') return undefined
  const age = now - time * 1000
  return Math.abs(age) <= tolerance ? undefined : `its signature is ${Math.round(age / 1000)} s old`
}

function headerIn(text: string): JsonObject {
  const header = parseJson(Buffer.from(text, 'base64url').toString())
  return isJsonObject(header) ? header : {}
}
