import { z } from 'zod'
import type { OAuth2Options } from './options.ts'
import type { RefreshTokens } from './refresh-tokens.ts'

/** Gives access tokens; with `renew` the one at hand was refused and a new one is fetched. */
export type TokenSource = (use?: 'at-hand' | 'renew') => Promise<string>

const tokens = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(3600),
  refresh_token: z.string().min(1).optional(),
})

const refusal = z.object({ error: z.string() })

/** Renewed this long before it ends, so that a login never races the expiry. */
const MARGIN = 60_000
/** Of a renewal, with all tokens that it tries. */
const TIMEOUT = 15_000

/**
 * Turns a refresh token into access tokens (RFC 6749, section 6), fetched when first needed and kept until
 * shortly before they end. Where the provider replaces the refresh token as well, the new one is in `refreshTokens`
 * before anything is done with the access token. Throws where the token endpoint cannot be reached or says no, and
 * `store_unavailable`; the error never carries a secret.
 */
export function createTokenSource(
  options: OAuth2Options,
  refreshTokens: RefreshTokens,
  now: () => number,
): TokenSource {
  const configured = options['refresh-token']
  let current: { token: string; until: number } | undefined
  let fetching: Promise<string> | undefined
  /** Given by the provider, and not known to be on the store, where `over` was then. */
  let unsaved: { token: string; over: string | undefined } | undefined

  const refresh = () =>
    refreshTokens.alone(async () => {
      const stored = await refreshTokens.load()
      const signal = AbortSignal.timeout(TIMEOUT)
      // Where the store has something else since, that is newer, and to use an older one may end them all.
      const own = unsaved?.over === stored ? unsaved?.token : undefined
      for (const token of new Set([own, stored, configured])) {
        const fresh = token && (await renew(options, token, signal))
        if (!fresh) continue
        const newest = fresh.refresh_token ?? token
        unsaved = { token: newest, over: stored }
        if (newest !== configured) await refreshTokens.save(newest)
        else if (stored) await refreshTokens.forget()
        unsaved = undefined
        current = { token: fresh.access_token, until: now() + fresh.expires_in * 1000 - MARGIN }
        return fresh.access_token
      }
      throw refused(options, 'invalid_grant')
    })

  return async (use = 'at-hand') => {
    if (use === 'at-hand' && current && current.until > now()) return current.token
    fetching ??= refresh().finally(() => {
      fetching = undefined
    })
    return fetching
  }
}

/** Undefined where the provider knows the refresh token no more (`invalid_grant`; RFC 6749, section 5.2). */
async function renew(options: OAuth2Options, refreshToken: string, signal: AbortSignal) {
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
    signal,
  })
  if (response.ok) return tokens.parse(await response.json())
  const { data } = refusal.safeParse(await response.json().catch(() => undefined))
  if (data?.error === 'invalid_grant') return undefined
  if (response.status >= 500 || response.status === 429) throw away(options, response.status)
  throw refused(options, String(response.status))
}

/** The provider's trouble, not the login's. */
function away(options: OAuth2Options, status: number): Error {
  return new Error(`${hostOf(options)} cannot renew the OAuth2 token just now (${status}); it is tried again`)
}

function refused(options: OAuth2Options, reason: string): Error {
  return new Error(`${hostOf(options)} refused to renew the OAuth2 token (${reason}); authorize again`)
}

function hostOf(options: OAuth2Options): string {
  return new URL(options['token-url']).host
}
