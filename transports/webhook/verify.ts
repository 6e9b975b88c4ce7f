import { z } from 'zod'
import { duration } from '../../src/core/units.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { createSignatureCheck, SCHEMES, type SignatureCheck } from '../../src/lib/signatures.ts'
import { secrets } from '../options.ts'

const secret = secrets.describe('One secret, or a list of them while you rotate: any of them is good.')

const tolerance = duration
  .default(300_000)
  .describe('How far the signed time may be from now (replay window).')

const headerName = z
  .string()
  .regex(/^[\w-]+$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())

const template = z
  .string()
  .refine((text) => text.split('{body}').length === 2, 'the template must name {body} exactly once')

/** The key in a Standard Webhooks secret: base64 after `whsec_`. Empty where the secret is not well-formed. */
function standardKey(text: string): Buffer {
  const encoded = text.replace(/^whsec_/, '')
  return /^[\w+/-]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.alloc(0)
}

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

/** How a delivery proves where it comes from. */
export const verify = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('none') }),
  z.strictObject({ scheme: z.enum(['bitbucket', 'github', 'sentry', 'shopify', 'typeform']), secret }),
  z.strictObject({ scheme: z.enum(['slack', 'stripe', 'zendesk', 'zoom']), secret, tolerance }),
  z.strictObject({
    scheme: z.literal('standard-webhooks'),
    secret: secret.refine(
      (secrets) => secrets.every((text) => standardKey(text).length > 0),
      'expected whsec_ and base64, as the provider shows it',
    ),
    tolerance,
  }),
  hmac.refine(
    (options) => !options.template?.includes('{timestamp}') || options['timestamp-header'] !== undefined,
    'a template with {timestamp} needs timestamp-header',
  ),
  z.strictObject({ scheme: z.enum(['gitlab', 'telegram']), secret }),
  z.strictObject({ scheme: z.literal('header'), header: headerName, secret }),
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({ scheme: z.literal('basic'), user: z.string().min(1), secret }),
])

type Verify = z.output<typeof verify>

/** Checks the proof of one delivery. Each method returns why it is refused, or undefined where it is good. */
export type Verifier = SignatureCheck & {
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
}

/** Makes the verifier of a gateway. All comparisons take constant time, whichever secret matches. */
export function createVerifier(options: Verify, now: () => number): Verifier {
  switch (options.scheme) {
    case 'none':
      return { ...UNSIGNED, head: accept, carriers: [] }
    case 'bearer':
      return withSecret('authorization', options.secret, /^bearer +(\S+) *$/i, 'Bearer')
    case 'basic': {
      // RFC 7617, with UTF-8.
      const known = options.secret.map((secret) =>
        Buffer.from(`${options.user}:${secret}`).toString('base64'),
      )
      return withSecret('authorization', known, /^basic +([\w+/=-]+) *$/i, BASIC)
    }
    case 'header':
      return withSecret(options.header, options.secret)
    // https://docs.gitlab.com/user/project/integrations/webhooks
    case 'gitlab':
      return withSecret('x-gitlab-token', options.secret)
    // https://core.telegram.org/bots/api#setwebhook
    case 'telegram':
      return withSecret('x-telegram-bot-api-secret-token', options.secret)
    case 'hmac': {
      const { secret, tolerance, 'timestamp-header': time, ...scheme } = options
      return createSignatureCheck([{ ...scheme, time }], secret.map(bytesOf), tolerance, now)
    }
    default: {
      const keyOf = options.scheme === 'standard-webhooks' ? standardKey : bytesOf
      const tolerance = 'tolerance' in options ? options.tolerance : 0
      return createSignatureCheck(SCHEMES[options.scheme], options.secret.map(keyOf), tolerance, now)
    }
  }
}

const BASIC = 'Basic realm="trivium", charset="UTF-8"'
const UNSIGNED = { body: accept, signed: () => [] }

/** A header carries one of the known secrets, alone or as `pattern` says. */
function withSecret(header: string, known: string[], pattern = /^(.*)$/s, challenge?: string): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    ...UNSIGNED,
    carriers: [header],
    ...(challenge === undefined ? {} : { challenge }),
    head({ [header]: value = '' }) {
      const [, given = ''] = pattern.exec(String(value)) ?? []
      if (given === '')
        return header === 'authorization' ? 'its credentials are missing' : `the header ${header} is missing`
      return indexOf(given) < 0 ? 'its credentials are not known' : undefined
    },
  }
}

function bytesOf(secret: string): Buffer {
  return Buffer.from(secret)
}

function accept(): undefined {
  return undefined
}
