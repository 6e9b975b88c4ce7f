import { z } from 'zod'
import { duration, MINUTE } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { keyOfSecret, publicKey, SECRET_ENCODINGS } from '../keys.ts'
import { secretsOf } from '../options.ts'

const texts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)])

/** `verify: { scheme: jwt }`: a signed token in a header. */
export const jwt = z
  .strictObject({
    scheme: z.literal('jwt'),
    header: z
      .string()
      .regex(/^[\w-]+$/, 'expected the name of a header')
      .default('authorization')
      .transform((name) => name.toLowerCase())
      .describe('The header with the token, after `Bearer` or alone.'),
    secret: secretsOf('the secret that signs the tokens (HS256, HS384, HS512)').exactOptional(),
    'secret-encoding': z.enum(SECRET_ENCODINGS).default('text').describe('Encoding of `secret`.'),
    'public-key': z.string().exactOptional().describe('Public key of the issuer: PEM, or DER in base64.'),
    jwks: z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .exactOptional()
      .describe('JWKS URL of the issuer. Fetched for the first token, then cached.'),
    audience: texts.exactOptional().describe('Accepted audiences (`aud`).'),
    issuer: texts.exactOptional().describe('Accepted issuers (`iss`).'),
    claims: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.boolean()]).describe('The value that this claim must have.'),
      )
      .exactOptional()
      .describe('Further required claims, such as the email of a service account.'),
    'body-hash': z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        'The claim with the SHA-256 of the body, in hex or base64. Without it, a token verifies the sender but not the body.',
      ),
    detached: z
      .boolean()
      .default(false)
      .describe(
        'Whether the token is a detached signature of the body (`HEADER..SIGNATURE`), without claims.',
      ),
    tolerance: duration
      .default(5 * MINUTE)
      .describe('Clock tolerance, and maximum age of tokens without expiry.'),
  })
  .superRefine((options, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message, input: options })
    const { secret, jwks, audience, claims, detached } = options
    const keySources = [secret, jwks, options['public-key']].filter((source) => source !== undefined)
    if (keySources.length !== 1) report('expected one of secret, public-key and jwks, to verify the tokens')
    const restrictions = [audience, claims, options['body-hash']]
    const isUnrestricted = restrictions.every((option) => option === undefined)
    if (detached && (!isUnrestricted || options.issuer !== undefined))
      report('a detached signature has no claims: leave out audience, issuer, claims and body-hash')
    if (jwks !== undefined && !detached && isUnrestricted)
      report('jwks needs audience (or claims, or body-hash): an issuer signs tokens for others too')
    if (secret?.some((one) => attempt(() => keyOfSecret(one, options['secret-encoding'])) === undefined))
      report(`expected a secret in ${options['secret-encoding']}`)
    const key = options['public-key']
    if (key !== undefined && attempt(() => publicKey(key)) === undefined)
      report('expected a public key in PEM or base64')
  })

export type JwtOptions = z.output<typeof jwt>
