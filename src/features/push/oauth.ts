import { Client } from 'undici'
import { reasonOf } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { DAY, MINUTE } from '../../core/units.ts'
import { headOf } from '../../lib/head-of.ts'
import { isPrivateHost } from '../../lib/private-address.ts'
import { privateRefusal, publicLookup } from '../../lib/public-lookup.ts'
import type { PushSubscription } from './schema.ts'

/** A token is renewed this long (ms) before it expires, but not before half of its lifetime. */
const RENEW_BEFORE = 30_000
/** Lifetime (ms) of a token without `expires_in`. */
const DEFAULT_LIFETIME = 5 * MINUTE
/** Maximum lifetime (ms) of a token, whatever its `expires_in`. */
const LONGEST_LIFETIME = DAY
/** Maximum bytes read of an answer. */
const MAX_ANSWER = 65_536
/** Maximum characters of the endpoint's error text that our error quotes. */
const SHOWN = 200

/** `until`: when to get a new token (Unix ms). */
type CachedToken = { token: string; until: number }

export type Tokens = ReturnType<typeof createTokens>

/**
 * Access tokens by OAuth 2.0 client credentials (RFC 6749, section 4.4), cached until shortly
 * before they expire. Concurrent callers share one request. The token endpoint, like the receiver,
 * may have a private address only with `allow-private`.
 */
export function createTokens(
  { oauth, allowPrivate, timeout }: Pick<PushSubscription, 'oauth' | 'allowPrivate' | 'timeout'>,
  now: () => number,
) {
  let cached: CachedToken | undefined
  let requested: Promise<CachedToken> | undefined

  const request = async (): Promise<CachedToken> => {
    if (!oauth) throw new Error('`oauth` is missing')
    const url = new URL(oauth.tokenUrl)
    if (!allowPrivate && isPrivateHost(url)) throw new Error(privateRefusal(url.hostname))
    const connect = { timeout, ...(allowPrivate ? {} : { lookup: publicLookup }) }
    const client = new Client(url.origin, { allowH2: false, maxResponseSize: MAX_ANSWER, connect })
    try {
      const { statusCode, body } = await client.request({
        path: url.pathname + url.search,
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
          'user-agent': 'Trivium',
          authorization: basicOf(oauth.clientId, oauth.clientSecret),
        },
        body: formOf(oauth).toString(),
        signal: AbortSignal.timeout(timeout),
      })
      return readToken(statusCode, await body.text(), now())
    } finally {
      await client.destroy()
    }
  }

  return {
    /** A valid token. Rejects with an Error that says why there is none. */
    async get(): Promise<string> {
      if (cached && now() < cached.until) return cached.token
      requested ??= request().finally(() => {
        requested = undefined
      })
      try {
        cached = await requested
        return cached.token
      } catch (error) {
        throw new Error(`no access token: ${reasonOf(error)}`, { cause: error })
      }
    },
    /** Called when the receiver refused this token. */
    forget(token: string): void {
      if (cached?.token === token) cached = undefined
    },
  }
}

function formOf({ scope, audience }: NonNullable<PushSubscription['oauth']>): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scope !== undefined) form.set('scope', scope)
  if (audience !== undefined) form.set('audience', audience)
  return form
}

/** Id and secret are form-encoded before they are joined (RFC 6749, section 2.3.1). */
function basicOf(id: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ v: text }).toString().slice('v='.length)
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`
}

function readToken(status: number, text: string, now: number): CachedToken {
  const answer = parseJson(text)
  const fields = isJsonObject(answer) ? answer : {}
  const { access_token: token, error, error_description: description } = fields
  if (status !== 200 || typeof token !== 'string' || token === '') {
    const reason = [error, description].filter((part) => typeof part === 'string').join(': ')
    const shown = reason === '' ? '' : ` (${headOf(reason, SHOWN)})`
    throw new Error(`the token endpoint answered ${status}${shown}`)
  }
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error('the token endpoint answered with a token that cannot be used in a header')
  const seconds = Number(fields.expires_in)
  const lifetime = Math.min(seconds > 0 ? seconds * 1000 : DEFAULT_LIFETIME, LONGEST_LIFETIME)
  return { token, until: now + Math.max(lifetime / 2, lifetime - RENEW_BEFORE) }
}
