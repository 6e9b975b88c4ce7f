import { z } from 'zod'
import { patternText } from '../../src/core/pattern.ts'
import { DAY, duration, HOUR, MINUTE, rate, size, timerDuration } from '../../src/core/units.ts'
import { mailApi } from './api-options.ts'
import { mailWebhook } from './webhook-options.ts'

/** An OAuth2 login whose access token is renewed with a refresh token (RFC 6749, section 6). */
const oauth2 = z.strictObject({
  'client-id': z.string().min(1).describe('The OAuth2 client.'),
  'client-secret': z.string().min(1).optional().describe('Its secret, if it has one.'),
  'refresh-token': z
    .string()
    .min(1)
    .describe('Obtained once: for Microsoft with `trivium email login`, for others from the provider.'),
  'token-url': z
    .url()
    .default('https://oauth2.googleapis.com/token')
    .describe('Where access tokens are requested.'),
})

const server = z.strictObject({
  host: z.string().min(1).describe('Host name of the server.'),
  port: z.coerce
    .number()
    .int()
    .min(1)
    .max(65535)
    .optional()
    .describe('Port. Default: 993 for `imap`, 465 for `smtp`.'),
  tls: z
    .enum(['implicit', 'starttls', 'none'])
    .optional()
    .describe(
      'Default: `implicit` on ports 993 and 465, otherwise `starttls`, which the server must then offer.',
    ),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe('PEM file with a certificate authority to trust, in addition to those of the system.'),
  user: z.string().min(1).optional().describe('User name.'),
  pass: z.string().min(1).optional().describe('Password, or an app password.'),
  oauth2: oauth2.optional().describe('OAuth2 login instead of a password.'),
})

const address = z.string().regex(/^[^\s@<>]+@[^\s@<>]+$/, 'expected an address such as support@example.com')

const since = z.union([z.literal(['now', 'all']), z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'expected now, all or a date such as 2026-11-01',
})

const after = z.union(
  [
    z.literal(['keep', 'seen', 'delete']),
    z.strictObject({ move: z.string().min(1).describe('The folder that accepted mail is moved to.') }),
  ],
  {
    error: 'expected keep, seen, delete or { move: Folder }',
  },
)

type Limit = z.output<typeof rate>
type Budget = { address: Limit; conversation: Limit; thread: Limit; domain: Limit; gateway: Limit }

const BUDGET: Limit = { count: 10, per: HOUR }

/**
 * Derives the limits per domain and gateway from the limit per correspondent: twice and a hundred
 * times as much, but at least 20 and 1000.
 */
function budgetOf(limit: Limit): Budget {
  const times = (factor: number, min: number): Limit =>
    limit === 'off' ? 'off' : { count: Math.max(min, limit.count * factor), per: limit.per }
  return {
    address: limit,
    conversation: limit,
    thread: limit,
    domain: times(2, 20),
    gateway: times(100, 1000),
  }
}

const defaultBudget = budgetOf(BUDGET)
const replyBudget = z
  .union(
    [
      rate.transform(budgetOf),
      z.strictObject({
        address: rate.default(BUDGET).describe('Replies to one address.'),
        conversation: rate.default(BUDGET).describe('Replies in one conversation.'),
        thread: rate.default(BUDGET).describe('Replies in one mail thread.'),
        domain: rate
          .default(defaultBudget.domain)
          .describe('Replies to all addresses of a domain and its subdomains.'),
        gateway: rate.default(defaultBudget.gateway).describe('Replies of the gateway.'),
      }),
    ],
    {
      error:
        'expected a rate such as 10/h, off, or rates for address, conversation, thread, domain and gateway',
    },
  )
  .default(defaultBudget)

const handover = z
  .union(
    [
      z.literal('on-human-reply').transform(() => ({ for: DAY, drop: false })),
      z.strictObject({
        when: z
          .literal('on-human-reply')
          .describe('What starts the takeover; `on-human-reply` is the only value.'),
        for: z
          .union([z.literal('resume'), timerDuration])
          .default(DAY)
          .describe(
            'How long the conversation stays paused after the last mail of a person; `resume`: until someone resumes it. Default: 24h.',
          ),
        drop: z
          .boolean()
          .default(false)
          .describe('Record its mail as handled by a person instead of letting it wait.'),
      }),
    ],
    { error: 'expected on-human-reply, or { when: on-human-reply, for: 4h, drop: true }' },
  )
  .describe(
    'A person who answers from the mailbox takes over the conversation: it is paused. `on-human-reply`: with the defaults.',
  )

const options = z.strictObject({
  address: address.describe('The address of the mailbox, and the sender of replies.'),
  name: z.string().min(1).optional().describe('Display name of the sender in replies.'),
  aliases: z.array(address).default([]).describe('Other addresses of this mailbox.'),
  inbound: z
    .enum(['imap', 'webhook'])
    .default('imap')
    .describe('Where mail comes from: the mailbox `imap`, or a provider that posts it to `webhook`.'),
  imap: server.optional().describe('Incoming mail: the IMAP server. Required unless `inbound: webhook`.'),
  webhook: mailWebhook.optional().describe('Incoming mail: the provider that posts it.'),
  outbound: z
    .enum(['smtp', 'api'])
    .default('smtp')
    .describe('How mail is sent: by the server `smtp`, or by the `api` of a provider.'),
  smtp: server.optional().describe('Outgoing mail: the SMTP server. Required unless `outbound: api`.'),
  api: mailApi.optional().describe('Outgoing mail: the API of a provider.'),
  folders: z.array(z.string().min(1)).min(1).default(['INBOX']).describe('Folders to read.'),
  since: since
    .default('now')
    .describe('Which mail to read at the first start: only new mail, all mail, or mail since a date.'),
  after: after.default('keep').describe('What happens in the mailbox to a mail that was accepted.'),
  quarantine: z
    .string()
    .min(1)
    .optional()
    .describe('Folder for refused mail. Without it, refused mail stays in its folder.'),
  'max-size': size
    .default(25 * 1024 * 1024)
    .describe('Larger mail is accepted without its body and attachments.'),
  sweep: timerDuration
    .default(MINUTE)
    .describe('How often the folders are read in full, in addition to IDLE.'),
  'max-silence': duration
    .optional()
    .describe(
      'The gateway is reported as down if the mailbox could not be read for this long. Must be longer than `sweep`. Default: 5m, or twice `sweep` if that is longer.',
    ),

  'allowed-senders': z
    .array(patternText)
    .min(1)
    .optional()
    .describe('Only mail from these addresses is accepted; globs are allowed. Default: everybody.'),
  authentication: z
    .enum(['require', 'prefer', 'off'])
    .default('prefer')
    .describe(
      'require: only mail of verified senders is accepted. prefer: all mail. off: nothing is verified.',
    ),
  trust: z
    .string()
    .min(1)
    .optional()
    .describe('The server whose Authentication-Results headers are believed, or `microsoft`.'),

  answer: z
    .enum(['addressed', 'any'])
    .default('addressed')
    .describe('Which mail may be answered: mail addressed to this mailbox, or all mail that arrives in it.'),
  'reply-to': address.optional().describe('Reply-To address of outgoing mail.'),
  sent: z
    .strictObject({
      folder: z.string().min(1).describe('Name of the folder.'),
      copy: z
        .enum(['append', 'server'])
        .default('append')
        .describe('append: Trivium stores a copy there. server: the server does so itself, as Gmail does.'),
    })
    .optional()
    .describe('The folder with sent mail.'),
  handover: handover.optional(),
  'rate-limit': rate
    .default({ count: 60, per: MINUTE })
    .describe('Maximum rate of sent mail, such as 60/min.'),
  'reply-budget': replyBudget.describe(
    'How often one address, conversation, thread, domain and the whole gateway is answered; the protection against mail loops. A rate applies to the first three, twice as much (at least 20) to a domain, and 100 times as much (at least 1000) to the gateway.',
  ),
  'reply-max-age': duration.default(DAY).describe('Older mail is not answered.'),
  'thread-window': duration
    .default(7 * DAY)
    .describe(
      'How long mail with the same subject and sender continues a conversation without reply headers.',
    ),
})

/** The options of a gateway with `transport: email`; `docs/email.md` explains each. */
export const emailOptions = options.superRefine((values, context) => {
  for (const { option, message } of faultsOf(values))
    context.addIssue({ code: 'custom', path: [option], message, input: values })
  const { folders, after, quarantine } = values
  const read = new Set(folders.map((folder) => folder.toLowerCase()))
  const move = typeof after === 'object' ? after.move : ''
  const targets = { 'after.move': move, quarantine: quarantine ?? '' }
  for (const [option, target] of Object.entries(targets)) {
    if (!read.has(target.toLowerCase())) continue
    const path = option.split('.')
    const message = `expected a folder that is not read: ${target} is in folders, so each mail would be moved again and again`
    context.addIssue({ code: 'custom', path, message, input: target })
  }
})

type Values = z.output<typeof options>
type Fault = { option: keyof Values; message: string }

/**
 * Finds options that are missing, and options that contradict each other. An unused `smtp`, and an
 * unused `imap`, are accepted.
 */
function faultsOf(values: Values): Fault[] {
  const { inbound, outbound, imap, webhook, smtp, api, sent, quarantine, after, handover } = values
  const { sweep, 'max-silence': maxSilence } = values
  const faults: Fault[] = []
  const addIf = (isFault: boolean, option: keyof Values, message: string) => {
    if (isFault) faults.push({ option, message })
  }
  if (inbound === 'imap') {
    addIf(!imap, 'imap', 'missing key "imap": the server of the mailbox, or set inbound: webhook')
    addIf(webhook !== undefined, 'webhook', 'mail is read by imap: set inbound: webhook')
  } else {
    addIf(!webhook, 'webhook', 'missing key "webhook": who posts the mail, and where')
    addIf(quarantine !== undefined, 'quarantine', 'mail of a webhook is in no folder')
    addIf(after !== 'keep', 'after', 'mail of a webhook is in no folder')
  }
  if (outbound === 'smtp') {
    addIf(!smtp, 'smtp', 'missing key "smtp": the server that sends, or set outbound: api')
    addIf(api !== undefined, 'api', 'mail is sent by smtp: set outbound: api')
  } else addIf(!api, 'api', 'missing key "api": the provider that sends')
  const answers = 'needs `sent: { folder }`, where the answers of people are'
  addIf(handover !== undefined && !sent, 'handover', answers)
  addIf(sent !== undefined && !imap, 'sent', 'a folder with sent mail needs `imap`, where it is')
  const isReadTwice = handover !== undefined && sent !== undefined && foldersOf(values).includes(sent.folder)
  addIf(
    isReadTwice,
    'handover',
    'the folder of `sent` is in `folders`: its mail would be read as incoming mail',
  )
  const isTooShort = maxSilence !== undefined && maxSilence <= sweep
  addIf(isTooShort, 'max-silence', 'must be longer than `sweep`: the mailbox is read that often')
  return faults
}

/**
 * The folders to read, each once: two readers of a folder would take its position from each other.
 * Only INBOX ignores case (RFC 9051, section 5.1).
 */
export function foldersOf({ folders }: Pick<Values, 'folders'>): string[] {
  return [...new Set(folders.map((folder) => (/^inbox$/i.test(folder) ? 'INBOX' : folder)))]
}

/** How long (ms) the mailbox may be unread before the gateway is reported as down. */
export function maxSilenceOf(values: Pick<Values, 'max-silence' | 'sweep'>): number {
  return values['max-silence'] ?? Math.max(5 * MINUTE, 2 * values.sweep)
}

export type EmailOptions = z.output<typeof emailOptions>
export type ServerOptions = z.output<typeof server>
export type OAuth2Options = z.output<typeof oauth2>
