import type { ClientAuth, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client'
import { z } from 'zod'
import type { OidcConfig } from '../../config/schema/console.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { parseJson, pathGet } from '../../core/json.ts'
import { createVault } from '../../lib/vault.ts'
import { createGuardedFetch } from '../../runtime/mcp/guarded-fetch.ts'
import type { Person } from './sessions.ts'

/** The state of a sign-in, encrypted in a cookie while the person is at the provider. */
const pendingSchema = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The console view to show afterwards. */
  at: z.string(),
  until: z.number(),
})

export type Oidc = ReturnType<typeof createOidc>

/** Maximum duration (ms) of a sign-in at the provider. */
export const PENDING = 600_000
/** Timeout (seconds) of the provider, and how long (ms) its discovery document is cached. */
const [WITHIN_SECONDS, FRESH] = [10, 3_600_000]

/**
 * OpenID Connect with the code flow, PKCE, state and nonce. The state of a sign-in is in a cookie
 * of the browser, sealed with the control token. Nobody can finish in another browser what began in
 * this one, and unfinished sign-ins use no storage.
 */
export function createOidc({ token, now }: { token: string; now(): number }) {
  const vault = createVault(token, 'trivium console sign-in')
  const providers = createProviders(now)

  return {
    /** The URL to redirect the browser to, and the cookie. Throws `issuer_unavailable`. */
    async begin(options: OidcConfig, callback: string, at: string) {
      const oidc = await import('openid-client')
      const provider = await providers.of(options)
      const verifier = oidc.randomPKCECodeVerifier()
      const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
      const to = oidc.buildAuthorizationUrl(provider, {
        redirect_uri: callback,
        scope: options.scopes.join(' '),
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      const pending = { issuer: options.issuer, state, nonce, verifier, at, until: now() + PENDING }
      return { to: to.href, state, cookie: vault.close(JSON.stringify(pending)) }
    },

    /** Returns the person who came back from the provider. Throws `sign_in_failed`, `issuer_unavailable`. */
    async finish(
      options: OidcConfig,
      current: URL,
      cookie: string | undefined,
    ): Promise<{ person: Person; at: string }> {
      const opened = cookie === undefined ? undefined : vault.open(cookie)
      const { data: pending } = pendingSchema.safeParse(opened === undefined ? undefined : parseJson(opened))
      if (!pending || pending.until <= now() || pending.issuer !== options.issuer) {
        throw signInError('it was started in another browser, or too long ago; start again')
      }
      const oidc = await import('openid-client')
      const provider = await providers.of(options)
      const checks = {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      }
      const tokens = await oidc.authorizationCodeGrant(provider, current, checks).catch(refuse)
      const claims = tokens.claims()
      if (!claims) throw signInError('the provider gave no ID token')
      const asks = !isComplete(claims, options) && provider.serverMetadata().userinfo_endpoint !== undefined
      const more = asks
        ? await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub).catch(refuse)
        : undefined
      return { person: personOf(mergeClaims(claims, more), options), at: pending.at }
    },
  }
}

/** Discovery documents of providers, cached for an hour. */
function createProviders(now: () => number) {
  const known = new Map<string, { at: number; provider: Promise<Configuration> }>()
  const discover = async (options: OidcConfig): Promise<Configuration> => {
    const oidc = await import('openid-client')
    const { issuer, clientId, clientSecret, allowPrivate } = options
    const guarded = createGuardedFetch({ url: issuer, headers: {}, allowPrivate })
    const fetchFrom: CustomFetch = (url, { body, headers, method, signal }) =>
      guarded(url, {
        headers,
        method,
        ...(body !== undefined && body !== null && { body }),
        ...(signal && { signal }),
      })
    const provider = await oidc.discovery(new URL(issuer), clientId, {}, authenticate(oidc, clientSecret), {
      // Checks the ID token's signature, rather than relying on TLS alone.
      execute: [
        oidc.enableNonRepudiationChecks,
        ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
      ],
      timeout: WITHIN_SECONDS,
      [oidc.customFetch]: fetchFrom,
    })
    return provider
  }
  return {
    of(options: OidcConfig): Promise<Configuration> {
      const { issuer, clientId, clientSecret = '', allowPrivate } = options
      const key = JSON.stringify([issuer, clientId, clientSecret, allowPrivate])
      const before = known.get(key)
      if (before && now() - before.at < FRESH) return before.provider
      known.clear()
      const provider = discover(options).catch((cause) => {
        known.delete(key)
        throw new TriviumError('issuer_unavailable', { issuer, reason: wordsOf(cause) }, { cause })
      })
      known.set(key, { at: now(), provider })
      return provider
    },
  }
}

/** Sends the client secret in the body if the provider supports it, else in the header. */
function authenticate(oidc: typeof import('openid-client'), secret: string | undefined): ClientAuth {
  if (secret === undefined) return oidc.None()
  return (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: ways = ['client_secret_basic'] } = server
    const way = ways.includes('client_secret_post') ? oidc.ClientSecretPost : oidc.ClientSecretBasic
    way(secret)(server, client, body, headers)
  }
}

/** Some providers return the address, its verification and the groups only from the userinfo endpoint. */
function isComplete(claims: IDToken, { nameClaim, groupsClaim }: OidcConfig): boolean {
  const needed = [nameClaim, groupsClaim, ...(nameClaim === 'email' ? ['email_verified'] : [])]
  return needed.every((name) => name in claims)
}

/** The ID token wins. A verification counts only for the address that it came with. */
function mergeClaims(claims: IDToken, more: UserInfoResponse | undefined): UserInfoResponse {
  const merged = { ...more, ...claims }
  const isVerified = [claims, more].some(
    (from) => from?.email === merged.email && from?.email_verified === true,
  )
  return { ...merged, email_verified: isVerified }
}

/** An email address counts only if the provider has verified it; otherwise people could claim any. */
function personOf(claims: UserInfoResponse, { issuer, nameClaim, groupsClaim }: OidcConfig): Person {
  const given = claims[nameClaim]
  const isProven = nameClaim !== 'email' || claims.email_verified === true
  const name = typeof given === 'string' && given !== '' && isProven ? given : undefined
  const groups = [claims[groupsClaim]].flat().filter((each) => typeof each === 'string')
  return {
    via: 'oidc',
    issuer,
    subject: claims.sub,
    ...(name !== undefined && { name }),
    ...(groups.length > 0 && { groups }),
  }
}

function refuse(cause: unknown): never {
  throw signInError(wordsOf(cause), cause)
}

function signInError(reason: string, cause?: unknown): TriviumError {
  return new TriviumError('sign_in_failed', { reason }, { cause })
}

/** The error text of the library, the provider or the network. */
function wordsOf(error: unknown): string {
  const said = [
    reasonOf(error),
    ...['error', 'error_description', 'cause.message'].map((path) => pathGet(error, path)),
  ]
  return said
    .filter((each) => typeof each === 'string')
    .join(': ')
    .slice(0, 500)
}
