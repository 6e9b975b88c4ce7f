import { z } from 'zod'

const url = z
  .url({ protocol: /^https?$/, error: 'expected an address such as https://api.eu.mailgun.net' })
  .optional()
  .describe("URL of the API, if not the provider's usual one.")

const token = (what: string) =>
  z
    .string({ error: `missing key "token": ${what}` })
    .min(1)
    .describe('The token or API key of the provider.')

/** `api:` of an email gateway: sends mail through a provider's API. */
export const mailApi = z.discriminatedUnion('provider', [
  z.strictObject({
    provider: z.literal('postmark').describe('The provider that sends.'),
    token: token('The server API token of Postmark.'),
    stream: z.string().min(1).default('outbound').describe('The message stream.'),
    url,
  }),
  z.strictObject({
    provider: z.literal('mailgun'),
    token: token('A sending key of the domain at Mailgun.'),
    domain: z.string().min(1).optional().describe('The sending domain; by default that of `address`.'),
    url,
  }),
  z.strictObject({ provider: z.literal('resend'), token: token('An API key of Resend.'), url }),
  z.strictObject({
    provider: z.literal('ses'),
    region: z
      .string({ error: 'missing key "region": such as eu-west-1' })
      .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'expected a region such as eu-west-1')
      .describe('The region of SES.'),
    'access-key': z.string().min(1).describe('Access key id of a user who may ses:SendEmail.'),
    'secret-key': z.string().min(1).describe('The secret access key of that user.'),
    'session-token': z.string().min(1).optional().describe('Session token of a temporary key.'),
    url,
  }),
])

export type MailApiOptions = z.output<typeof mailApi>
