import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import { createVault } from '../../src/lib/vault.ts'
import type { OAuth2Options } from './options.ts'

/** Gives access tokens; with `renew` the one at hand was refused and a new one is fetched. */
export type TokenSource = (use?: 'at-hand' | 'renew') => Promise<string>

const tokens = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().default(3600),
  refresh_token: z.string().min(1).optional(),
})

/** Renewed this long before it ends, so that a login never races the expiry. */
const MARGIN = 60_000
/** Of a renewal, with all tokens that it tries. */
const TIMEOUT = 15_000
/** Longer than a renewal may take; after that a daemon that died in one stands in nobody's way. */
const LEASE = 25_000
/** How long, and how often, to look whether another daemon has done; no longer, so that a mailbox can be stopped. */
const WAIT = 10_000
const LOOK = 100
/** Written anew with each renewal. A login that nobody uses for so long has ended anywhere. */
const KEEP = 400 * 86_400_000

/**
 * Turns a refresh token into access tokens (RFC 6749, section 6). A refresh token that replaces it is on the store, for
 * all daemons and gateways with this login, before the access token is used. Throws where the token endpoint cannot be
 * reached or says no, and `store_unavailable`; the error never carries a secret.
 */
export function createTokenSource(
  options: OAuth2Options,
  { kv, leases, now }: Pick<TransportDeps, 'kv' | 'leases' | 'now'>,
): TokenSource {
  const configured = options['refresh-token']
  const login = JSON.stringify([options['token-url'], options['client-id'], configured])
  // Another token in routes.yaml is another login, which begins afresh.
  const name = `email-oauth2/${hash('sha256', login, 'base64url')}`
  // Only the holder of the configured token has the key: no copy of the store opens a mailbox.
  const vault = createVault(configured, 'trivium email refresh token')
  const owner = randomUUID()
  let current: { token: string; until: number } | undefined
  let fetching: Promise<string> | undefined
  /** Given by the provider, and not known to be on the store. */
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

  /** Two daemons that use one refresh token at once would end it for both. */
  const refreshAlone = async () => {
    for (const end = performance.now() + WAIT; !(await leases.acquire(name, owner, LEASE)); ) {
      if (performance.now() > end)
        throw new Error('another daemon renews the OAuth2 token; it is tried again')
      await pause(LOOK)
    }
    try {
      return await refresh()
    } finally {
      // A store that is away just now: the lease ends by itself.
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
  const { ok, status } = response
  if (ok) return tokens.parse(await response.json())
  if (pathGet(await response.json().catch(() => undefined), 'error') === 'invalid_grant') return undefined
  if (status < 500 && status !== 429)
    throw says(options, `refused to renew the OAuth2 token (${status}); authorize again`)
  // The provider's trouble, not the login's.
  throw says(options, `cannot renew the OAuth2 token just now (${status}); it is tried again`)
}

function says(options: OAuth2Options, what: string): Error {
  return new Error(`${new URL(options['token-url']).host} ${what}`)
}
