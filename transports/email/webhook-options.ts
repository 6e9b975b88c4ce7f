import { z } from 'zod'
import { verify } from '../deliveries/verify.ts'
import { publicPath } from '../options.ts'

const MAIL_PROVIDERS = ['cloudflare', 'mailgun', 'postmark', 'resend', 'sendgrid', 'ses'] as const

/** An example of `verify` for each provider. */
const VERIFY_EXAMPLES: Record<(typeof MAIL_PROVIDERS)[number], string> = {
  cloudflare: '{ scheme: bearer, secret: … }',
  mailgun: '{ scheme: mailgun, secret: … }',
  postmark: '{ scheme: basic, user: …, secret: … }',
  resend: '{ scheme: standard-webhooks, secret: … }',
  sendgrid: '{ scheme: basic, user: …, secret: … }',
  ses: '{ scheme: sns, topic: … }',
}

const options = z.strictObject({
  provider: z.enum(MAIL_PROVIDERS).describe('The provider. cloudflare: any service that posts raw mail.'),
  path: publicPath.describe('Where mail is posted on the public listener.'),
  verify: verify
    .optional()
    .describe('Verification of deliveries, as for webhook gateways; without verification, { scheme: none }.'),
  key: z.string().min(1).optional().describe('API key for fetching mail stored by the provider.'),
  url: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://api.eu.mailgun.net' })
    .optional()
    .describe("URL of the provider's API, if not the usual one."),
})

/** `webhook:` of an email gateway: a provider receives the mail and posts it. */
export const mailWebhook = options
  .superRefine(({ provider, verify, key }, context) => {
    const report = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message, input: provider })
    const example = VERIFY_EXAMPLES[provider]
    if (verify === undefined) report('verify', `missing key "verify": for ${provider} ${example}`)
    else if (provider === 'ses' && verify.scheme !== 'sns')
      report('verify', `mail of SES comes through SNS: expected ${example}`)
    if (provider === 'resend' && key === undefined)
      report('key', 'missing key "key": Resend only announces a mail; it is fetched with an API key')
  })
  .transform(({ verify = { scheme: 'none' as const }, ...rest }) => ({ ...rest, verify }))

export type MailWebhookOptions = z.output<typeof mailWebhook>
