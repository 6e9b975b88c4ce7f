import { z } from 'zod'
import { duration } from '../../src/core/units.ts'
import { secretsOf } from '../options.ts'
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
  const isKey = (text: string) => {
    try {
      return preset.keyOf?.(text) !== null
    } catch {
      return false
    }
  }
  const secret = called(what).refine((secrets) => secrets.every(isKey), `expected ${what}`)
  return z.strictObject({ scheme: z.literal(name), secret, ...more })
}
