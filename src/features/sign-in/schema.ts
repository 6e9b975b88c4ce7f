import { z } from 'zod'
import { DAY, duration, HOUR, MINUTE } from '../../core/units.ts'
import { camelKeys } from '../../lib/camel.ts'
import { isLoopback } from '../../lib/http.ts'

const MEMBER_HINT = 'expected ada@example.com, *@example.com, group:NAME, sub:ID or *'
/** A verified address, a domain, a group, a subject, or `*`: everyone with an account there. */
const member = z.string().regex(/^(?:\*|\*@[^\s@*]+|(?:group|sub):\S.*|[^\s@*:]+@[^\s@*]+)$/, MEMBER_HINT)

/** Providers that anyone can have an account with. For these, `*` would let anyone in. */
const OPEN_TO_ANYONE =
  /^https:\/\/(?:accounts\.google\.com|login\.microsoftonline\.com\/(?:common|consumers|organizations)|appleid\.apple\.com|gitlab\.com)\b/

/** `console: { oidc }`: people sign in at an identity provider. */
const oidcSchema = z
  .strictObject({
    issuer: z
      .url({ protocol: /^https?$/, error: 'expected https://…', abort: true })
      .refine(
        (url) => url.startsWith('https:') || isLoopback(hostOf(url)),
        'expected https://…; http is allowed for this machine only',
      )
      .describe('The issuer URL of the identity provider, as in its discovery document.'),
    'client-id': z.string().min(1).describe('The client that you registered at the identity provider.'),
    'client-secret': z
      .string()
      .min(1)
      .exactOptional()
      .describe('The client secret; omit it for a public client.'),
    allow: z
      .array(member)
      .min(1)
      .describe('Who may sign in: `ada@example.com`, `*@example.com`, `group:NAME`, `sub:ID` or `*`.'),
    roles: z
      .strictObject({
        operator: z.array(member).default([]).describe('Who may do everything.'),
        viewer: z
          .array(member)
          .exactOptional()
          .describe(
            'Who may look, but not change anything; by default everyone in `allow`. If set, others may not sign in.',
          ),
      })
      .exactOptional()
      .describe('Roles of the people in `allow`. Without it, all of them are operators.'),
    scopes: z
      .array(z.string().regex(/^\S+$/))
      .default(['openid', 'email', 'profile'])
      .describe('Scopes to request; `openid` is required.'),
    'name-claim': z
      .string()
      .min(1)
      .default('email')
      .describe(
        "The claim with a person's identity. An email address counts only if the provider has verified it.",
      ),
    'groups-claim': z
      .string()
      .min(1)
      .default('groups')
      .describe('The claim with the groups of a person, for `group:NAME`.'),
    'allow-private': z
      .boolean()
      .default(false)
      .describe('Allow endpoints at private addresses for a provider with a public name.'),
  })
  .refine(({ scopes }) => scopes.includes('openid'), {
    error: '`scopes` must include openid',
    path: ['scopes'],
  })
  .refine(
    // `*` in `roles` is limited to those who may sign in.
    ({ issuer, allow }) => !OPEN_TO_ANYONE.test(issuer) || !allow.includes('*'),
    { error: 'anyone can have an account with this provider; name the people instead of *', path: ['allow'] },
  )
  .transform(camelKeys)

/** The host of a URL; an IPv6 address without its brackets. */
function hostOf(url: string): string {
  return URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

export type OidcConfig = z.output<typeof oidcSchema>

/** The section `console:` of routes.yaml. */
export const consoleSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'expected https://…', abort: true })
      .refine((url) => new URL(url).pathname === '/', 'expected an address without a path')
      .exactOptional()
      .describe('Address at which people open the console, such as https://trivium.example.com.'),
    session: duration
      .refine((ms) => ms >= MINUTE && ms <= 30 * DAY, 'expected 1m to 30d')
      .default(12 * HOUR)
      .describe('How long people stay signed in.'),
    oidc: oidcSchema.exactOptional().describe('People sign in at an identity provider (OpenID Connect).'),
  })
  .transform(camelKeys)

export type ConsoleConfig = z.output<typeof consoleSchema>
