import { z } from 'zod'
import { duration, MINUTE } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { PLACEHOLDERS, signsBody, unknownPlaceholders } from '../../src/lib/signatures.ts'
import { anyPublicKey, keyOfSecret, SECRET_ENCODINGS } from '../keys.ts'
import { secretsOf } from '../options.ts'

export const tolerance = duration
  .default(5 * MINUTE)
  .describe('Accepted difference between the signed time and now (replay window).')

export const url = z
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

export const headerName = z
  .string()
  .regex(/^[\w-]+$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())

const NO_BODY =
  'the template must name {body} exactly once, its hash as {body-sha256}, or fields of it as {body.PATH}'

const template = z
  .string()
  .refine((text) => text.split('{body}').length <= 2, NO_BODY)
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

export const secret = secretOption('the secret that you and the sender share')

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

const byHmac = z.strictObject({
  scheme: z.literal('hmac'),
  secret,
  'secret-encoding': z
    .enum(SECRET_ENCODINGS)
    .default('text')
    .describe('Encoding of the secret: text is used as it is; base64 may start with whsec_.'),
  ...signature,
  encoding: encoding.default('hex'),
})

/** A plain hash of a text that contains the secret. */
const plainHash = z.strictObject({
  scheme: z.literal('hash'),
  secret,
  ...signature,
  encoding: encoding.default('hex'),
})

/** A signature with a private key of the provider (RSA, ECDSA, Ed25519). */
const byPrivateKey = z.strictObject({
  scheme: z.literal('public-key'),
  secret: secretOption('the public key of the provider: PEM, DER in base64, or the 32 bytes of Ed25519'),
  ...signature,
  encoding: encoding.default('base64'),
})

type Signature = z.output<typeof byHmac | typeof plainHash | typeof byPrivateKey>

/** Reports a missing place of the signature or of its time, and invalid keys. */
function checkSignatureOptions(options: Signature, context: z.RefinementCtx): void {
  const { header, field, template } = options
  const report = (message: string) => context.addIssue({ code: 'custom', message, input: options })
  if ((header === undefined) === (field === undefined))
    report('expected either header or field: where the signature is')
  const timeKeys = ['timestamp-header', 'timestamp-field', 'timestamp-prefix'] as const
  if (template?.includes('{timestamp}') && timeKeys.every((key) => options[key] === undefined))
    report('a template with {timestamp} needs timestamp-header, timestamp-field or timestamp-prefix')
  reportSecretPlace(options, report)
  const { scheme } = options
  const keyOf = (text: string) => {
    if (scheme === 'public-key') return anyPublicKey(text)
    return keyOfSecret(text, scheme === 'hmac' ? options['secret-encoding'] : 'text')
  }
  if (options.secret.every((text) => attempt(() => keyOf(text)) !== undefined)) return
  report(scheme === 'hmac' ? `expected a secret in ${options['secret-encoding']}` : 'expected a public key')
}

/** Reports a template that proves nothing, or that puts the secret where it has no meaning. */
function reportSecretPlace({ scheme, template = '' }: Signature, report: (message: string) => void): void {
  const places = template.split('{secret}').length - 1
  if (scheme === 'hash' && places !== 1)
    report('a plain hash needs a template with {secret} once, such as "{secret}{body}"')
  if (scheme === 'public-key' && places > 0) report('{secret} has no meaning with a public key')
  const hasTimeAndSecret = template.includes('{timestamp}') && places > 0
  if (
    template === '' ||
    signsBody(template) ||
    template.includes('{body.') ||
    (scheme === 'hmac' && hasTimeAndSecret)
  )
    return
  report(NO_BODY)
}

export const hmac = byHmac.superRefine(checkSignatureOptions)
export const hashed = plainHash.superRefine(checkSignatureOptions)
export const signedByKey = byPrivateKey.superRefine(checkSignatureOptions)

/** The option `secret`. `what` describes it, also in the error if it is missing. */
export function secretOption(what: string) {
  const sentence = what.charAt(0).toUpperCase() + what.slice(1)
  return secretsOf(what).describe(`${sentence}. During a rotation a list; each of its values is accepted.`)
}
