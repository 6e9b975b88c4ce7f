import { z } from 'zod'
import { DAY } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { httpSignature } from './http-signature.ts'
import { jwt } from './jwt-options.ts'
import { paypal } from './paypal.ts'
import { plaid } from './plaid.ts'
import type { Preset } from './preset.ts'
import { PRESETS } from './presets.ts'
import {
  hashed,
  headerName,
  hmac,
  secret,
  secretOption,
  signedByKey,
  tolerance,
  url,
} from './signature-options.ts'
import { sns } from './sns-options.ts'

/**
 * For providers whose retries may have the time of the first attempt. They also sign an id, by
 * which replays are recognised.
 */
const longTolerance = tolerance.unwrap().default(DAY)

/** How a delivery is verified: by a provider's preset (`presets.ts`), or a general scheme. */
export const verify = z.discriminatedUnion('scheme', [
  z.strictObject({
    scheme: z
      .literal('none')
      .describe(
        'A provider by its name, or a general scheme: `hmac`, `hash`, `public-key`, `http-signature`, `standard-webhooks`, `jwt`, `sns`, `header`, `query`, `bearer` or `basic`. `none` lets anyone send.',
      ),
  }),
  z.strictObject({
    scheme: z.enum(['bitbucket', 'github', 'gitlab', 'sentry', 'shopify', 'telegram', 'typeform']),
    secret,
  }),
  z.strictObject({ scheme: z.enum(['slack', 'stripe', 'zendesk', 'zoom']), secret, tolerance }),
  provider('standard-webhooks', 'whsec_ and base64, as the provider shows it', { tolerance }),
  provider('discord', 'the public key of the application, 64 hex digits', { tolerance: longTolerance }),
  provider('lark', 'the Encrypt Key of the app', { tolerance: longTolerance }),
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
  hmac,
  hashed,
  signedByKey,
  httpSignature,
  jwt,
  sns,
  paypal,
  plaid,
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
