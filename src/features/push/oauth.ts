import { Client } from 'undici'
import type { PushSubscription } from '../../config/schema/push.ts'
import { reasonOf } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { headOf } from '../../lib/head-of.ts'
import { isPrivateHost } from '../../lib/private-address.ts'
import { privateRefusal, publicLookup } from '../../lib/public-lookup.ts'

/** A token is renewed so long (ms) before it expires, or at half of its life if that is shorter. */
const EARLY = 30_000
/** Lifetime (ms) of tokens whose `expires_in` is missing, and the longest one. */
const [UNKNOWN_LIFE, LONGEST_LIFE] = [300_000, 86_400_000]
const MAX_ANSWER = 65_536
const SHOWN = 200

type Known = { token: string; until: number }

export type Tokens = ReturnType<typeof createTokens>

/**
 * Access tokens by OAuth 2.0 client credentials (RFC 6749, section 4.4), cached until they expire. Concurrent callers share one
 * request. `get` rejects with the reason; private addresses are refused as for the receiver.
 */
export function createTokens(
  { oauth, allowPrivate, timeout }: Pick<PushSubscription, 'oauth' | 'allowPrivate' | 'timeout'>,
  now: () => number,
) {
  let known: Known | undefined
  let asking: Promise<Known> | undefined

  const ask = async (): Promise<Known> => {
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
    async get(): Promise<string> {
      if (known && now() < known.until) return known.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      try {
        known = await asking
        return known.token
      } catch (error) {
        throw new Error(`no access token: ${reasonOf(error)}`, { cause: error })
      }
    },
    /** The receiver refused this token. */
    forget(token: string): void {
      if (known?.token === token) known = undefined
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

function readToken(status: number, text: string, now: number): Known {
  const answer = parseJson(text)
  const {
    access_token: token,
    expires_in: expires,
    error,
    error_description: why,
  } = isJsonObject(answer) ? answer : {}
  if (status !== 200 || typeof token !== 'string' || token === '') {
    const said = [error, why].filter((part) => typeof part === 'string').join(': ')
    throw new Error(`the token endpoint answered ${status}${said === '' ? '' : ` (${headOf(said, SHOWN)})`}`)
  }
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error('the token endpoint answered with a token that cannot be used in a header')
  const life = Math.min(Number(expires) > 0 ? Number(expires) * 1000 : UNKNOWN_LIFE, LONGEST_LIFE)
  return { token, until: now + Math.max(life / 2, life - EARLY) }
}
