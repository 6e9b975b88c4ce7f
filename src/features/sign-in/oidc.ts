import type { ClientAuth, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { parseJson, pathGet } from '../../core/json.ts'
import { HOUR, MINUTE } from '../../core/units.ts'
import { createVault } from '../../lib/vault.ts'
import { createGuardedFetch } from '../../runtime/mcp/guarded-fetch.ts'
import type { OidcConfig } from './schema.ts'
import type { Person } from './sessions.ts'

/** A sign-in that has begun. Encrypted in a cookie while the person is at the provider. */
const pendingSchema = z.strictObject({
  issuer: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The console view to show afterwards. */
  at: z.string(),
  /** When it expires (Unix ms). */
  until: z.number(),
})

export type Oidc = ReturnType<typeof createOidc>

/** Maximum duration (ms) of a sign-in at the provider. */
export const SIGN_IN_TIMEOUT = 10 * MINUTE
/** Timeout (seconds) of requests to the provider. */
const REQUEST_TIMEOUT_SECONDS = 10
/** How long (ms) a discovery document is cached. */
const DISCOVERY_LIFETIME = HOUR
/** Maximum characters of a provider's error text that our error quotes. */
const MAX_REASON = 500

/**
 * OpenID Connect with the code flow, PKCE, state and nonce. A sign-in that has begun is in a
 * cookie, encrypted with the control token. It can therefore only be finished in the same browser,
 * and unfinished sign-ins need no storage.
 */
export function createOidc({ token, now }: { token(): string; now(): number }) {
  const vault = () => createVault(token(), 'trivium console sign-in')
  const providers = createProviders(now)

  return {
    /**
     * Starts a sign-in. `callback`: the URL that the provider redirects to. `at`: the console view
     * to show afterwards. Returns the URL of the provider, and the state and content of the cookie.
     * Throws `issuer_unavailable`.
     */
    async begin(options: OidcConfig, callback: string, at: string) {
      const oidc = await import('openid-client')
      const provider = await providers.of(options)
      const verifier = oidc.randomPKCECodeVerifier()
      const state = oidc.randomState()
      const nonce = oidc.randomNonce()
      const to = oidc.buildAuthorizationUrl(provider, {
        redirect_uri: callback,
        scope: options.scopes.join(' '),
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      const pending = { issuer: options.issuer, state, nonce, verifier, at, until: now() + SIGN_IN_TIMEOUT }
      return { to: to.href, state, cookie: vault().encrypt(JSON.stringify(pending)) }
    },

    /**
     * Finishes a sign-in. `current`: the requested callback URL, with the provider's parameters.
     * Returns the person and the console view. Throws `sign_in_failed` and `issuer_unavailable`.
     */
    async finish(
      options: OidcConfig,
      current: URL,
      cookie: string | undefined,
    ): Promise<{ person: Person; at: string }> {
      const opened = cookie === undefined ? undefined : vault().decrypt(cookie)
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
      const tokens = await oidc.authorizationCodeGrant(provider, current, checks).catch(throwSignInError)
      const claims = tokens.claims()
      if (!claims) throw signInError('the provider gave no ID token')
      const hasUserInfo = provider.serverMetadata().userinfo_endpoint !== undefined
      const userInfo =
        hasUserInfo && !isComplete(claims, options)
          ? await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub).catch(throwSignInError)
          : undefined
      return { person: personOf(mergeClaims(claims, userInfo), options), at: pending.at }
    },
  }
}

/** The provider with its discovery document, which is cached. */
function createProviders(now: () => number) {
  const cached = new Map<string, { at: number; provider: Promise<Configuration> }>()
  const discover = async (options: OidcConfig): Promise<Configuration> => {
    const oidc = await import('openid-client')
    const { issuer, clientId, clientSecret, allowPrivate } = options
    const guarded = createGuardedFetch({ url: issuer, headers: {}, allowPrivate })
    const guardedFetch: CustomFetch = (url, { body, headers, method, signal }) =>
      guarded(url, {
        headers,
        method,
        ...(body !== undefined && body !== null && { body }),
        ...(signal && { signal }),
      })
    return oidc.discovery(new URL(issuer), clientId, {}, authenticate(oidc, clientSecret), {
      // Checks the ID token's signature, rather than relying on TLS alone.
      execute: [
        oidc.enableNonRepudiationChecks,
        ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
      ],
      timeout: REQUEST_TIMEOUT_SECONDS,
      [oidc.customFetch]: guardedFetch,
    })
  }
  return {
    of(options: OidcConfig): Promise<Configuration> {
      const { issuer, clientId, clientSecret = '', allowPrivate } = options
      const key = JSON.stringify([issuer, clientId, clientSecret, allowPrivate])
      const before = cached.get(key)
      if (before && now() - before.at < DISCOVERY_LIFETIME) return before.provider
      // Only one provider is configured, so any other that is cached is out of date.
      cached.clear()
      const provider = discover(options).catch((cause) => {
        cached.delete(key)
        throw new TriviumError('issuer_unavailable', { issuer, reason: errorText(cause) }, { cause })
      })
      cached.set(key, { at: now(), provider })
      return provider
    },
  }
}

/** Sends the client secret in the body if the provider supports it, else in the header. */
function authenticate(oidc: typeof import('openid-client'), secret: string | undefined): ClientAuth {
  if (secret === undefined) return oidc.None()
  return (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const method = methods.includes('client_secret_post') ? oidc.ClientSecretPost : oidc.ClientSecretBasic
    method(secret)(server, client, body, headers)
  }
}

/**
 * Whether an ID token has all claims that are needed. Some providers return the address, its
 * verification and the groups only from the userinfo endpoint.
 */
function isComplete(claims: IDToken, { nameClaim, groupsClaim }: OidcConfig): boolean {
  const needed = [nameClaim, groupsClaim, ...(nameClaim === 'email' ? ['email_verified'] : [])]
  return needed.every((name) => name in claims)
}

/**
 * The claims of both; the ID token counts first. A verification is only of the address beside it.
 */
function mergeClaims(claims: IDToken, userInfo: UserInfoResponse | undefined): UserInfoResponse {
  const merged = { ...userInfo, ...claims }
  const isVerified = [claims, userInfo].some(
    (source) => source?.email === merged.email && source?.email_verified === true,
  )
  return { ...merged, email_verified: isVerified }
}

/**
 * The person of these claims. An email address that the provider has not verified does not count.
 */
function personOf(claims: UserInfoResponse, { issuer, nameClaim, groupsClaim }: OidcConfig): Person {
  const claim = claims[nameClaim]
  const isProven = nameClaim !== 'email' || claims.email_verified === true
  const name = typeof claim === 'string' && claim !== '' && isProven ? claim : undefined
  const groups = [claims[groupsClaim]].flat().filter((each) => typeof each === 'string')
  return {
    via: 'oidc',
    issuer,
    subject: claims.sub,
    ...(name !== undefined && { name }),
    ...(groups.length > 0 && { groups }),
  }
}

function throwSignInError(cause: unknown): never {
  throw signInError(errorText(cause), cause)
}

function signInError(reason: string, cause?: unknown): TriviumError {
  return new TriviumError('sign_in_failed', { reason }, { cause })
}

/** The error text of the library, the provider or the network. */
function errorText(error: unknown): string {
  const details = ['error', 'error_description', 'cause.message'].map((path) => pathGet(error, path))
  const parts = [reasonOf(error), ...details].filter((each) => typeof each === 'string')
  return parts.join(': ').slice(0, MAX_REASON)
}
