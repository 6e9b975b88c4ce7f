import { z } from 'zod'
import { duration, rate, size, timerDuration } from '../../src/core/units.ts'
import { standardKey } from '../../src/lib/signatures.ts'
import { publicPath, secrets } from '../options.ts'

const secret = secrets.describe('One secret, or a list of them while you rotate: any of them is good.')

const tolerance = duration
  .default(300_000)
  .describe('How far the signed time may be from now (replay window).')

/** `header.NAME` or `data.PATH`: where in a delivery a value is found. */
const pointer = z
  .string()
  .regex(/^(header\.[\w-]+|data\.\S+)$/, 'expected header.NAME or data.PATH, such as data.body.id')

const headerName = z
  .string()
  .regex(/^[\w-]+$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())

const template = z
  .string()
  .refine((text) => text.split('{body}').length === 2, 'the template must name {body} exactly once')

const hmac = z.strictObject({
  scheme: z.literal('hmac'),
  secret,
  header: headerName.describe('The header that carries the signature.'),
  algorithm: z.enum(['sha256', 'sha1', 'sha512']).default('sha256'),
  encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
  prefix: z.string().default('').describe('What stands before the signature, such as sha256='),
  'timestamp-header': headerName
    .optional()
    .describe('The header that carries the signed Unix time, in seconds or milliseconds.'),
  template: template
    .optional()
    .describe('What is signed: {body}, {timestamp} and {header.NAME} are filled in. Default {body}.'),
  tolerance,
})

/** How a delivery proves where it comes from. */
export const verify = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('none') }),
  z.strictObject({ scheme: z.literal('github'), secret }),
  z.strictObject({ scheme: z.literal('stripe'), secret, tolerance }),
  z.strictObject({ scheme: z.literal('slack'), secret, tolerance }),
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
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({ scheme: z.literal('basic'), user: z.string().min(1), secret }),
])

export type Verify = z.output<typeof verify>

/** The options of a webhook gateway in routes.yaml. */
export const webhookOptions = z.strictObject({
  path: publicPath.describe('Where deliveries are posted on the public listener.'),
  verify: verify.default({ scheme: 'none' }),
  respond: z
    .enum(['accepted', 'result'])
    .default('accepted')
    .describe('accepted: 202 once the message is durable. result: 200 with the reply of the skill.'),
  timeout: timerDuration.default(30_000).describe('How long `respond: result` waits for the reply.'),
  'rate-limit': rate.default('off').describe('How many authentic deliveries are taken, such as 100/s.'),
  'max-body': size.default(1_048_576),
  key: pointer.optional().describe('Where the id of a delivery is, for deduplication.'),
  event: pointer.optional().describe('Where the name of the event is.'),
  from: pointer.optional().describe('Where the id of the sender is.'),
  conversation: pointer.optional().describe('What belongs together; by default each delivery stands alone.'),
})

export type WebhookOptions = z.output<typeof webhookOptions>
