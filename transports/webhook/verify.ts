import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { type Json, pathGet } from '../../src/core/json.ts'
import { duration } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { parseExact } from '../../src/lib/exact-json.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { createSignatureCheck } from '../../src/lib/signatures.ts'
import { secretsOf } from '../options.ts'
import { decodeBody } from './decode-body.ts'
import { found } from './pointers.ts'
import { PRESETS, type Preset } from './presets.ts'

const tolerance = duration
  .default(300_000)
  .describe('How far the signed time may be from now (replay window).')

/** Of providers whose later attempts may carry the time of the first. They sign an id too, so that no replay is taken. */
const longTolerance = tolerance.unwrap().default(86_400_000)

const url = z
  .url({
    protocol: /^https?$/,
    error: 'expected url: https://HOST/PATH, this gateway as the provider has it, which it signs',
  })
  .refine((text) => !/[?#]/.test(text), 'expected an address without ? and #')
  .describe('The address of this gateway as the provider has it, which it signs: https://HOST/PATH.')

const headerName = z
  .string()
  .regex(/^[\w-]+$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())

const template = z
  .string()
  .refine((text) => text.split('{body}').length === 2, 'the template must name {body} exactly once')

const secret = called('what you and the sender share')

const hmac = z.strictObject({
  scheme: z.literal('hmac'),
  secret,
  header: headerName.describe('The header that carries the signature.'),
  algorithm: z.enum(['sha256', 'sha1', 'sha512']).default('sha256'),
  encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
  prefix: z.string().default('').describe('What stands before the signature, such as sha256='),
  'timestamp-header': headerName
    .optional()
    .describe('The header that carries the signed time: Unix, in seconds or milliseconds, or ISO.'),
  template: template
    .optional()
    .describe('What is signed: {body}, {timestamp} and {header.NAME} are filled in. Default {body}.'),
  tolerance,
})

/** How a delivery proves where it comes from: as a provider does it (`presets.ts`), or in a way that fits anybody. */
export const verify = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('none') }),
  z.strictObject({
    scheme: z.enum(['bitbucket', 'github', 'gitlab', 'sentry', 'shopify', 'telegram', 'typeform']),
    secret,
  }),
  z.strictObject({ scheme: z.enum(['slack', 'stripe', 'zendesk', 'zoom']), secret, tolerance }),
  by('standard-webhooks', 'whsec_ and base64, as the provider shows it', { tolerance }),
  by('discord', 'the public key of the application, 64 hex digits', { tolerance: longTolerance }),
  by('mailgun', 'the webhook signing key of the account', { tolerance: longTolerance }),
  by('meta', 'the app secret', {
    'verify-token': z
      .string({ error: 'expected verify-token: what you enter at Meta as Verify Token' })
      .min(1)
      .describe('What you enter at Meta as Verify Token.'),
  }),
  by('microsoft-graph', 'the clientState of your subscriptions', {}),
  by('sendgrid', 'the public key of the Event Webhook, in base64', { tolerance: longTolerance }),
  by('square', 'the signature key of the subscription', { url }),
  by('twilio', 'the auth token of the account', { url }),
  hmac.refine(
    (options) => !options.template?.includes('{timestamp}') || options['timestamp-header'] !== undefined,
    'a template with {timestamp} needs timestamp-header',
  ),
  z.strictObject({ scheme: z.literal('header'), header: headerName, secret }),
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({ scheme: z.literal('basic'), user: z.string().min(1), secret }),
])

export type Verify = z.output<typeof verify>

function called(what: string) {
  return secretsOf(what).describe(`${what}. Give a list while you rotate: any of them is good.`)
}

/** The options of a provider that has a name of its own for its secret, `what`, or gives it a form. */
function by<Name extends keyof typeof PRESETS, More extends z.ZodRawShape>(
  name: Name,
  what: string,
  more: More,
) {
  const preset: Preset = PRESETS[name]
  const isKey = (text: string) => attempt(() => preset.keyOf?.(text) !== null) ?? false
  const secret = called(what).refine((secrets) => secrets.every(isKey), `expected ${what}`)
  return z.strictObject({ scheme: z.literal(name), secret, ...more })
}

/** What proves deliveries to one gateway. */
export type Verifier = {
  /** Why one is refused, by its body exactly as it came; undefined where it is good. `url`: where it was posted. */
  check(headers: IncomingHttpHeaders, raw: Buffer, url?: string): string | undefined
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
  /** Takes the secret out of a body that carries it: whoever may read messages could forge some. */
  conceal?(raw: Buffer): Buffer
}

/** What is known of the provider that a gateway is for; undefined for the schemes that fit anybody. */
export function presetOf({ scheme }: Verify): Preset | undefined {
  const known: Partial<Record<Verify['scheme'], Preset>> = PRESETS
  return known[scheme]
}

/** Makes the verifier of a gateway. All comparisons take constant time, whichever secret matches. */
export function createVerifier(options: Verify, now: () => number): Verifier {
  switch (options.scheme) {
    case 'none':
      return { check: () => undefined }
    case 'bearer':
      return { ...withSecret('authorization', options.secret, /^bearer +(\S+) *$/i), challenge: 'Bearer' }
    case 'basic': {
      // RFC 7617, with UTF-8.
      const known = options.secret.map((secret) =>
        Buffer.from(`${options.user}:${secret}`).toString('base64'),
      )
      const verifier = withSecret('authorization', known, /^basic +([\w+/=-]+) *$/i)
      return { ...verifier, challenge: 'Basic realm="trivium", charset="UTF-8"' }
    }
    case 'header':
      return withSecret(options.header, options.secret)
    case 'hmac': {
      const { 'timestamp-header': time, ...scheme } = options
      return withPreset({ signature: [{ ...scheme, time }] }, options, now)
    }
    default:
      return withPreset(PRESETS[options.scheme], options, now)
  }
}

type Known = { secret: string[]; tolerance?: number; url?: string }

function withPreset(preset: Preset, { secret, tolerance = 0, url = '' }: Known, now: () => number): Verifier {
  const { signature, keyOf = Buffer.from, claims = (headers) => [headers], header = '', inBody } = preset
  if (inBody) return withSecretInBody(inBody, secret)
  if (!signature) return withSecret(header, secret)
  const keys = secret.map((text) => keyOf(text))
  const checkSignature = createSignatureCheck(signature, keys, tolerance, now)
  return {
    check(headers, raw, path = '') {
      const [query = ''] = /\?.*/.exec(path) ?? []
      const reasons = claims(headers, raw, url + query).map((claimed) => checkSignature(claimed, raw))
      return reasons.includes(undefined) ? undefined : (reasons[0] ?? 'the body is not the signed one')
    },
  }
}

/** A header carries one of the known secrets, alone or as `pattern` says. */
function withSecret(header: string, known: string[], pattern = /^(.*)$/s): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check({ [header]: value = '' }) {
      const [, given = ''] = pattern.exec(String(value)) ?? []
      if (given === '') return `its credentials are missing: the header ${header}`
      return indexOf(given) < 0 ? 'its credentials are not known' : undefined
    },
  }
}

/** Each notification in the list `value` of a body carries one of the known secrets. */
function withSecretInBody(field: string, known: string[]): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    check(headers, raw) {
      const items = pathGet(decodeBody(headers['content-type'], raw).body, 'value')
      const isOurs = (body: Json) => indexOf(found(field, { headers, body, text: '' }) ?? '') >= 0
      if (Array.isArray(items) && items.length > 0 && items.every(isOurs)) return undefined
      return `not every notification in it has the ${field} that is known here`
    },
    conceal: (raw) =>
      Buffer.from(
        JSON.stringify(parseExact(raw.toString()), (name, value) => (name === field ? undefined : value)),
      ),
  }
}
