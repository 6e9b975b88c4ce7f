import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { DAY } from '../../src/core/units.ts'
import { pause } from '../../src/lib/pause.ts'
import { createVault } from '../../src/lib/vault.ts'
import type { OAuth2Options } from './options.ts'

/**
 * Resolves with an access token. `cached`: from the cache if still valid. `renew`: a new one, after
 * the server refused the cached one.
 */
export type TokenSource = (use?: 'cached' | 'renew') => Promise<string>

const tokens = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(3600),
  refresh_token: z.string().min(1).optional(),
})

/** A token is renewed this long before it expires, so that it does not expire during a login. */
const MARGIN_MS = 60_000
/** Timeout of a renewal, including all refresh tokens that are tried. */
const TIMEOUT_MS = 15_000
/** Lease of a renewal: a dead daemon blocks other daemons for this time. */
const LEASE_MS = 25_000
/** How long to wait for another daemon's renewal; limited, so that a mailbox can be stopped. */
const MAX_WAIT_MS = 10_000
/** Interval of the tries to get the lease in that time. */
const POLL_MS = 100
/** How long a refresh token is kept after the last renewal. */
const TOKEN_TTL_MS = 400 * DAY

/**
 * Gets access tokens with a refresh token (RFC 6749, section 6). A rotated refresh token is stored,
 * for all daemons and gateways with this login, before the access token is used. Throws if the
 * token endpoint is unreachable or refuses, and `store_unavailable`. Errors contain no secrets.
 */
export function createTokenSource(
  options: OAuth2Options,
  { kv, leases, now }: Pick<TransportDeps, 'kv' | 'leases' | 'now'>,
): TokenSource {
  const configured = options['refresh-token']
  const login = JSON.stringify([options['token-url'], options['client-id'], configured])
  // Another token in routes.yaml is a new login.
  const name = `email-oauth2/${hash('sha256', login, 'base64url')}`
  // The key is derived from the configured token, so a copy of the store does not give access to
  // the mailbox.
  const vault = createVault(configured, 'trivium email refresh token')
  const owner = randomUUID()
  /** `expiresAt`: Unix ms. */
  let current: { token: string; expiresAt: number } | undefined
  let pending: Promise<string> | undefined
  /** A refresh token from the provider that may not be stored yet. */
  let unsaved: string | undefined

  const refresh = async () => {
    const value = (await kv.get(name))?.value
    const stored = typeof value === 'string' ? vault.decrypt(value) : undefined
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    for (const token of new Set([unsaved, stored, configured])) {
      const renewed = token && (await renew(options, token, signal))
      if (!renewed) continue
      const newest = renewed.refresh_token ?? token
      unsaved = newest
      if (newest !== configured) await kv.set(name, vault.encrypt(newest), { ttl: TOKEN_TTL_MS })
      else if (stored) await kv.delete(name)
      unsaved = undefined
      current = { token: renewed.access_token, expiresAt: now() + renewed.expires_in * 1000 }
      return renewed.access_token
    }
    throw providerError(options, 'refused to renew the OAuth2 token (invalid_grant); authorize again')
  }

  /** Renews under a lease: concurrent use of a refresh token would invalidate it. */
  const refreshAlone = async () => {
    const deadline = performance.now() + MAX_WAIT_MS
    while (!(await leases.acquire(name, owner, LEASE_MS))) {
      if (performance.now() > deadline)
        throw new Error('another daemon renews the OAuth2 token; trying again')
      await pause(POLL_MS)
    }
    try {
      return await refresh()
    } finally {
      // If the store is unreachable, the lease expires.
      await leases.release(name, owner).catch(() => {})
    }
  }

  return async (use = 'cached') => {
    if (use === 'cached' && current && current.expiresAt - MARGIN_MS > now()) return current.token
    pending ??= refreshAlone().finally(() => {
      pending = undefined
    })
    return pending
  }
}

/**
 * Requests an access token. Resolves with undefined if the refresh token is no longer valid
 * (`invalid_grant`; RFC 6749, section 5.2).
 */
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
  const { ok, status } = response
  if (ok) return tokens.parse(await response.json())
  if (pathGet(await response.json().catch(() => undefined), 'error') === 'invalid_grant') return undefined
  if (status < 500 && status !== 429)
    throw providerError(options, `refused to renew the OAuth2 token (${status}); authorize again`)
  // A problem of the provider, not of the login.
  throw providerError(options, `could not renew the OAuth2 token (${status}); trying again`)
}

function providerError(options: OAuth2Options, what: string): Error {
  return new Error(`${new URL(options['token-url']).host} ${what}`)
}
