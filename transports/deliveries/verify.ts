import { z } from 'zod'
import { DAY, duration, MINUTE } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { PLACEHOLDERS, signsBody, unknownPlaceholders } from '../../src/lib/signatures.ts'
import { anyPublicKey, keyOfSecret, SECRET_ENCODINGS } from '../keys.ts'
import { secretsOf } from '../options.ts'
import { jwt } from './jwt-options.ts'
import { paypal } from './paypal.ts'
import type { Preset } from './preset.ts'
import { PRESETS } from './presets.ts'
import { sns } from './sns-options.ts'

const tolerance = duration
  .default(5 * MINUTE)
  .describe('Accepted difference between the signed time and now (replay window).')

/**
 * For providers whose retries may have the time of the first attempt. They also sign an id, so
 * replays are recognised.
 */
const longTolerance = tolerance.unwrap().default(DAY)

const url = z
  .url({
    protocol: /^https?$/,
    error: 'expected url: https://HOST/PATH, the address of this gateway that the provider calls and signs',
  })
  .refine((text) => !/[?#]/.test(text), 'expected an address without ? and #')
  .exactOptional()
  .describe(
    'The address of this gateway that the provider posts to and signs: https://HOST/PATH. ' +
      'Default: `public-url` with the path. The headers of proxies are ignored.',
  )

const headerName = z
  .string()
  .regex(/^[\w-]+$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())

const template = z
  .string()
  .refine(
    (text) =>
      text.split('{body}').length === 2 ||
      (!text.includes('{body}') && (signsBody(text) || text.includes('{body.'))),
    'the template must name {body} exactly once, its hash as {body-sha256}, or fields of it as {body.PATH}',
  )
  .superRefine((text, context) => {
    for (const unknown of unknownPlaceholders(text)) {
      const known = PLACEHOLDERS.map((name) => `{${name}}`).join(', ')
      context.addIssue({ code: 'custom', message: `there is no ${unknown}; known: ${known}`, input: text })
    }
  })

const field = z
  .string()
  .regex(/^\S+$/, 'expected a path in the body, such as signature.timestamp')
  .transform((path) => path.replace(/^data\.body\./, ''))

const secret = secretOption('the secret that you and the sender share')

/** Where the signature is, and what it covers. */
const signature = {
  header: headerName.exactOptional().describe('The header that carries the signature, or several.'),
  field: field.exactOptional().describe('The path of the signature in the body, instead of a header.'),
  algorithm: z
    .enum(['sha256', 'sha1', 'sha384', 'sha512'])
    .default('sha256')
    .describe('The hash function of the signature.'),
  prefix: z
    .string()
    .default('')
    .describe('Prefix of each signature, such as sha256= or v1=. Other values in the header are ignored.'),
  'timestamp-header': headerName
    .optional()
    .describe('The header with the signed time: Unix seconds or milliseconds, or a date.'),
  'timestamp-field': field.exactOptional().describe('The path of the time in the body.'),
  'timestamp-prefix': z
    .string()
    .exactOptional()
    .describe('Prefix of the time, such as t=, in `timestamp-header`, else in `header`.'),
  template: template
    .optional()
    .describe(`What is signed: ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}. Default {body}.`),
  'signed-body': z
    .enum(['sent', 'unpacked'])
    .default('sent')
    .describe('Whether a compressed body is signed as it is sent, or as it was before.'),
  url,
  tolerance,
}

const encoding = z
  .enum(['hex', 'base64', 'base64url'])
  .describe('How the signature is written in the header or field. Default: `hex`, for `public-key` `base64`.')

const hmac = z.strictObject({
  scheme: z.literal('hmac'),
  secret,
  'secret-encoding': z
    .enum(SECRET_ENCODINGS)
    .default('text')
    .describe('Encoding of the secret: text is used as it is; base64 may start with whsec_.'),
  ...signature,
  encoding: encoding.default('hex'),
})

/** A signature with a private key of the provider (RSA, ECDSA, Ed25519). */
const signedByKey = z.strictObject({
  scheme: z.literal('public-key'),
  secret: secretOption('the public key of the provider: PEM, DER in base64, or the 32 bytes of Ed25519'),
  ...signature,
  encoding: encoding.default('base64'),
})

/** Reports a missing place of the signature or of its time, and invalid keys. */
function checkSignatureOptions(
  options: z.output<typeof hmac> | z.output<typeof signedByKey>,
  context: z.RefinementCtx,
): void {
  const { header, field, template } = options
  const report = (message: string) => context.addIssue({ code: 'custom', message, input: options })
  if ((header === undefined) === (field === undefined))
    report('expected either header or field: where the signature is')
  const timeKeys = ['timestamp-header', 'timestamp-field', 'timestamp-prefix'] as const
  if (template?.includes('{timestamp}') && timeKeys.every((key) => options[key] === undefined))
    report('a template with {timestamp} needs timestamp-header, timestamp-field or timestamp-prefix')
  const isHmac = options.scheme === 'hmac'
  const keyOf = (text: string) =>
    isHmac ? keyOfSecret(text, options['secret-encoding']) : anyPublicKey(text)
  if (options.secret.every((text) => attempt(() => keyOf(text)) !== undefined)) return
  report(isHmac ? `expected a secret in ${options['secret-encoding']}` : 'expected a public key')
}

/** How a delivery is verified: by a provider's preset (`presets.ts`), or a general scheme. */
export const verify = z.discriminatedUnion('scheme', [
  z.strictObject({
    scheme: z
      .literal('none')
      .describe(
        'A provider by its name, or a general scheme: `hmac`, `public-key`, `standard-webhooks`, `jwt`, `sns`, `header`, `query`, `bearer` or `basic`. `none` lets anyone send.',
      ),
  }),
  z.strictObject({
    scheme: z.enum(['bitbucket', 'github', 'gitlab', 'sentry', 'shopify', 'telegram', 'typeform']),
    secret,
  }),
  z.strictObject({ scheme: z.enum(['slack', 'stripe', 'zendesk', 'zoom']), secret, tolerance }),
  provider('standard-webhooks', 'whsec_ and base64, as the provider shows it', { tolerance }),
  provider('discord', 'the public key of the application, 64 hex digits', { tolerance: longTolerance }),
  provider('mailgun', 'the webhook signing key of the account', { tolerance: longTolerance }),
  provider('meta', 'the app secret', {
    'verify-token': z
      .string({ error: 'expected verify-token: what you enter at Meta as Verify Token' })
      .min(1)
      .describe('The Verify Token that you enter at Meta.'),
  }),
  provider('microsoft-graph', 'the clientState of your subscriptions', {}),
  provider('sendgrid', 'the public key of the Event Webhook, in base64', { tolerance: longTolerance }),
  provider('square', 'the signature key of the subscription', { url }),
  provider('trello', 'the secret of your Trello app', { url }),
  provider('hubspot', 'the client secret of your app', { url, tolerance }),
  provider('twilio', 'the auth token of the account', { url }),
  provider('intercom', 'the client secret of your app', {}),
  provider('pagerduty', 'the secret that was shown when the subscription was made', {}),
  provider('calendly', 'the signing key of the subscription', { tolerance }),
  provider('front', 'the signing key of your app', { tolerance }),
  provider('linear', 'the signing secret of the webhook', { tolerance }),
  provider('paddle', 'the secret key of the notification destination', { tolerance }),
  provider('workos', 'the secret of the endpoint', { tolerance }),
  hmac.superRefine(checkSignatureOptions),
  signedByKey.superRefine(checkSignatureOptions),
  jwt,
  sns,
  paypal,
  z.strictObject({ scheme: z.literal('header'), header: headerName, secret }),
  z.strictObject({
    scheme: z.literal('query'),
    name: z
      .string()
      .regex(/^[\w.~-]+$/, 'expected the name of a query parameter, such as token')
      .describe('The query parameter with the secret.'),
    secret,
  }),
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({
    scheme: z.literal('basic'),
    user: z.string().min(1).describe('The user name of `basic`; `secret` is the password.'),
    secret,
  }),
])

export type Verify = z.output<typeof verify>

/** The option `secret`. `what` describes it, also in the error if it is missing. */
function secretOption(what: string) {
  const sentence = what.charAt(0).toUpperCase() + what.slice(1)
  return secretsOf(what).describe(`${sentence}. During a rotation a list; each of its values is accepted.`)
}

/** The options of a provider. `what`: what it calls its secret, or the format. */
function provider<Name extends keyof typeof PRESETS, More extends z.ZodRawShape>(
  name: Name,
  what: string,
  more: More,
) {
  const { keyOf }: Preset = PRESETS[name]
  const isValid = (text: string) => !keyOf || attempt(() => keyOf(text)) !== undefined
  const secret = secretOption(what).refine((secrets) => secrets.every(isValid), `expected ${what}`)
  return z.strictObject({ scheme: z.literal(name), secret, ...more })
}
