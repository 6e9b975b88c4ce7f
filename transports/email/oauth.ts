import { z } from 'zod'
import type { OAuth2Options } from './options.ts'

/** Gives access tokens; with `renew` the one at hand was refused and a new one is fetched. */
export type TokenSource = (use?: 'at-hand' | 'renew') => Promise<string>

const answer = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(3600),
  refresh_token: z.string().min(1).optional(),
})

/** Renewed this long before it ends, so that a login never races the expiry. */
const MARGIN = 60_000
const TIMEOUT = 30_000

/**
 * Turns a refresh token into access tokens (RFC 6749, section 6), fetched when first needed and kept until
 * shortly before they end. Throws where the token endpoint cannot be reached or says no; the error never
 * carries a secret.
 */
export function createTokenSource(options: OAuth2Options, now: () => number): TokenSource {
  let refreshToken = options['refresh-token']
  let current: { token: string; until: number } | undefined
  let fetching: Promise<string> | undefined

  const refresh = async () => {
    const secret = options['client-secret']
    const response = await fetch(options['token-url'], {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: options['client-id'],
        ...(secret ? { client_secret: secret } : {}),
      }),
      signal: AbortSignal.timeout(TIMEOUT),
    })
    if (!response.ok) {
      const host = new URL(options['token-url']).host
      throw new Error(`${host} refused to renew the OAuth2 token (${response.status}); authorize again`)
    }
    const fresh = answer.parse(await response.json())
    // Some providers hand out a new refresh token with each use and end the old one.
    refreshToken = fresh.refresh_token ?? refreshToken
    current = { token: fresh.access_token, until: now() + fresh.expires_in * 1000 - MARGIN }
    return fresh.access_token
  }

  return async (use = 'at-hand') => {
    if (use === 'at-hand' && current && current.until > now()) return current.token
    fetching ??= refresh().finally(() => {
      fetching = undefined
    })
    return fetching
  }
}
