import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import { createVault } from '../../src/lib/vault.ts'
import type { OAuth2Options } from './options.ts'

/** Returns an access token; `renew` fetches a new one after a refusal. */
export type TokenSource = (use?: 'at-hand' | 'renew') => Promise<string>

const tokens = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(3600),
  refresh_token: z.string().min(1).optional(),
})

/** Renewal this long (ms) before expiry, so that logins do not race it. */
const MARGIN = 60_000
/** Timeout (ms) of a renewal over all tokens tried. */
const TIMEOUT = 15_000
/** Lease (ms) of a renewal, after which a dead daemon does not block others. */
const LEASE = 25_000
/** How long and how often (ms) to wait for another daemon's renewal; limited, so that a mailbox can be stopped. */
const WAIT = 10_000
const LOOK = 100
/** How long (ms) a refresh token is kept after the last renewal. */
const KEEP = 400 * 86_400_000

/**
 * Gets access tokens with a refresh token (RFC 6749, section 6). A rotated refresh token is stored, for all daemons and gateways with this
 * login, before the access token is used. Throws if the token endpoint is unreachable or refuses, and `store_unavailable`. Errors
 * contain no secrets.
 */
export function createTokenSource(
  options: OAuth2Options,
  { kv, leases, now }: Pick<TransportDeps, 'kv' | 'leases' | 'now'>,
): TokenSource {
  const configured = options['refresh-token']
  const login = JSON.stringify([options['token-url'], options['client-id'], configured])
  // Another token in routes.yaml is a new login.
  const name = `email-oauth2/${hash('sha256', login, 'base64url')}`
  // The key is derived from the configured token, so a copy of the store does not give access to the mailbox.
  const vault = createVault(configured, 'trivium email refresh token')
  const owner = randomUUID()
  let current: { token: string; until: number } | undefined
  let fetching: Promise<string> | undefined
  /** Issued by the provider, but possibly not stored yet. */
  let unsaved: string | undefined

  const refresh = async () => {
    const value = (await kv.get(name))?.value
    const stored = typeof value === 'string' ? vault.open(value) : undefined
    const signal = AbortSignal.timeout(TIMEOUT)
    for (const token of new Set([unsaved, stored, configured])) {
      const fresh = token && (await renew(options, token, signal))
      if (!fresh) continue
      const newest = fresh.refresh_token ?? token
      unsaved = newest
      if (newest !== configured) await kv.set(name, vault.close(newest), { ttl: KEEP })
      else if (stored) await kv.delete(name)
      unsaved = undefined
      current = { token: fresh.access_token, until: now() + fresh.expires_in * 1000 - MARGIN }
      return fresh.access_token
    }
    throw says(options, 'refused to renew the OAuth2 token (invalid_grant); authorize again')
  }

  /** Renews under a lease: concurrent use of a refresh token would invalidate it. */
  const refreshAlone = async () => {
    for (const end = performance.now() + WAIT; !(await leases.acquire(name, owner, LEASE)); ) {
      if (performance.now() > end)
        throw new Error('another daemon renews the OAuth2 token; it is tried again')
      await pause(LOOK)
    }
    try {
      return await refresh()
    } finally {
      // If the store is unreachable, the lease expires.
      await leases.release(name, owner).catch(() => {})
    }
  }

  return async (use = 'at-hand') => {
    if (use === 'at-hand' && current && current.until > now()) return current.token
    fetching ??= refreshAlone().finally(() => {
      fetching = undefined
    })
    return fetching
  }
}

/** Undefined if the refresh token is no longer valid (`invalid_grant`; RFC 6749, section 5.2). */
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
    throw says(options, `refused to renew the OAuth2 token (${status}); authorize again`)
  // A problem of the provider, not of the login.
  throw says(options, `could not renew the OAuth2 token (${status}); it is tried again`)
}

function says(options: OAuth2Options, what: string): Error {
  return new Error(`${new URL(options['token-url']).host} ${what}`)
}
