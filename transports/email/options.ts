import { z } from 'zod'
import { patternText } from '../../src/core/pattern.ts'
import { duration, rate, size, timerDuration } from '../../src/core/units.ts'

/** An OAuth2 login whose access token is renewed with a refresh token (RFC 6749, section 6). */
const oauth2 = z.strictObject({
  'client-id': z.string().min(1),
  'client-secret': z.string().min(1).optional(),
  'refresh-token': z.string().min(1),
  'token-url': z.url().default('https://oauth2.googleapis.com/token'),
})

const server = z.strictObject({
  host: z.string().min(1),
  port: z.coerce.number().int().min(1).max(65535).optional(),
  /** Default: `implicit` on the port made for it (993, 465), else `starttls`, which is then required. */
  tls: z.enum(['implicit', 'starttls', 'none']).optional(),
  /** A PEM file with the authority to trust, besides those of the system. */
  ca: z.string().min(1).optional(),
  user: z.string().min(1).optional(),
  pass: z.string().min(1).optional(),
  oauth2: oauth2.optional(),
})

const address = z.string().regex(/^[^\s@<>]+@[^\s@<>]+$/, 'expected an address such as support@example.com')

const since = z.union([z.literal(['now', 'all']), z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'expected now, all or a date such as 2026-11-01',
})

const after = z.union([z.literal(['keep', 'seen', 'delete']), z.strictObject({ move: z.string().min(1) })], {
  error: 'expected keep, seen, delete or { move: Folder }',
})

type Limit = z.output<typeof rate>
type Budget = { address: Limit; conversation: Limit; thread: Limit; domain: Limit; gateway: Limit }

const BUDGET: Limit = { count: 10, per: 3_600_000 }

/** One rate limits answers to one correspondent. A domain has many of them, and a gateway has many domains. */
function budgetOf(limit: Limit): Budget {
  const times = (factor: number, least: number): Limit =>
    limit === 'off' ? 'off' : { count: Math.max(least, limit.count * factor), per: limit.per }
  return {
    address: limit,
    conversation: limit,
    thread: limit,
    domain: times(2, 20),
    gateway: times(100, 1000),
  }
}

const wide = budgetOf(BUDGET)
const replyBudget = z
  .union(
    [
      rate.transform(budgetOf),
      z.strictObject({
        address: rate.default(BUDGET),
        conversation: rate.default(BUDGET),
        thread: rate.default(BUDGET),
        domain: rate.default(wide.domain),
        gateway: rate.default(wide.gateway),
      }),
    ],
    {
      error:
        'expected a rate such as 10/h, off, or rates for address, conversation, thread, domain and gateway',
    },
  )
  .default(wide)

const options = z.strictObject({
  address,
  name: z.string().min(1).optional(),
  aliases: z.array(address).default([]),
  imap: server,
  smtp: server,
  folders: z.array(z.string().min(1)).min(1).default(['INBOX']),
  since: since.default('now'),
  after: after.default('keep'),
  quarantine: z.string().min(1).optional(),
  'max-size': size.default(25 * 1024 * 1024),
  sweep: timerDuration.default(60_000),
  'max-silence': duration.default(300_000),

  'allowed-senders': z.array(patternText).min(1).optional(),
  authentication: z.enum(['require', 'prefer', 'off']).default('prefer'),
  trust: z.string().min(1).optional(),

  answer: z.enum(['addressed', 'any']).default('addressed'),
  'reply-to': address.optional(),
  /** The folder with what was sent. `copy: server`: the server puts it there itself, as Gmail does. */
  sent: z
    .strictObject({ folder: z.string().min(1), copy: z.enum(['append', 'server']).default('append') })
    .optional(),
  'rate-limit': rate.default({ count: 60, per: 60_000 }),
  'reply-budget': replyBudget,
  'reply-max-age': duration.default(86_400_000),
  'thread-window': duration.default(7 * 86_400_000),
})

/** What a gateway with `transport: email` takes in routes.yaml; `docs/email.md` explains each. */
export const emailOptions = options.superRefine(({ folders, after, quarantine }, context) => {
  const read = new Set(folders.map((folder) => folder.toLowerCase()))
  const move = typeof after === 'object' ? after.move : ''
  const targets = { 'after.move': move, quarantine: quarantine ?? '' }
  for (const [option, target] of Object.entries(targets)) {
    if (!read.has(target.toLowerCase())) continue
    const path = option.split('.')
    const message = `expected a folder that is not read: ${target} is in folders, so each mail would be moved for ever`
    context.addIssue({ code: 'custom', path, message, input: target })
  }
})

export type EmailOptions = z.output<typeof emailOptions>
export type ServerOptions = EmailOptions['imap']
export type OAuth2Options = z.output<typeof oauth2>
