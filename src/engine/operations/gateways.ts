import { z } from 'zod'
import { closed, moment, ms, name, optional, span, time, timeout, wait } from '../../core/arguments.ts'
import { jsonObjectSchema } from '../../core/json.ts'
import { matchSchema } from '../../core/match.ts'
import { attachmentSchema } from '../../core/message.ts'
import { spoken } from '../../core/spoken.ts'
import { DAY, MINUTE } from '../../core/units.ts'

const match = matchSchema.exactOptional()
const recipients = z.union([name, z.array(name).min(1)]).exactOptional()

/** The receive road, the outbox, and the gateways themselves: `gateway-…`. */
export const gateways = {
  /**
   * Called by a skill that handles a message, it receives from the conversation of that message,
   * unless `gateway` or `conversation` is given.
   */
  receive: closed({
    gateway: optional('Only messages of this gateway'),
    conversation: optional('Only messages of this conversation'),
    timeout,
    lease: ms
      .exactOptional()
      .describe('Redeliver the message unless gateway-ack is called within this many ms'),
    match: match.describe('Only messages that match, with the match keys of a route; others stay'),
  }).describe('Takes the oldest inbound message, so that no one else gets it. Returns null at the timeout.'),
  ack: closed({
    receipt: name.describe('The receipt of the message'),
  }).describe('Consumes a message that gateway-receive returned with a lease.'),
  nack: closed({
    receipt: name.describe('The receipt of the message'),
    delay: wait.default(0).describe('The message is available again after this many ms'),
  }).describe(
    'Releases a message that gateway-receive returned with a lease, to be taken again now or later.',
  ),
  extend: closed({
    receipt: name.describe('The receipt of the message'),
    lease: ms.describe('Redeliver the message unless gateway-ack is called within this many ms from now'),
  }).describe('Extends the lease of a message in progress.'),
  /**
   * Answers the message of the call, or of `messageId` or `receipt`; `key` defaults to
   * `message:route:ordinal`. Throws `no_reply_target`, `target_not_allowed`, `message_not_found`,
   * `receipt_expired`, `forbidden`, and `send_rejected` for invalid `data`.
   */
  send: closed({
    text: z.string().describe('The text to send'),
    subject: z.string().exactOptional().describe('The subject, if the transport has one'),
    attachments: z.array(attachmentSchema).exactOptional().describe('Files already stored by Trivium'),
    data: jsonObjectSchema
      .exactOptional()
      .describe('Further features of the transport, such as blocks, a modal or an ephemeral reply in Slack'),
    messageId: spoken(optional('Answer this message instead of the current one'), { id: 'message' }),
    receipt: optional('Answer the message that has this receipt of gateway-receive'),
    gateway: optional('A gateway other than that of the message; needs `to`'),
    to: recipients.describe(
      'A target other than the conversation; for mail, one or several addresses. Needs `gateway`, or for mail `messageId`',
    ),
    cc: recipients.describe('Mail: Cc addresses'),
    bcc: recipients.describe('Mail: Bcc addresses'),
    replyAll: z
      .literal(true)
      .exactOptional()
      .describe('Mail: reply to all recipients except the addresses of the gateway'),
    'reply-all': z.literal(true).exactOptional().describe('Alias of replyAll'),
    calendar: z
      .enum(['accept', 'tentative', 'decline'])
      .exactOptional()
      .describe('Mail: answer to the invitation in the message'),
    key: optional('Idempotency key: sent once per key; with messageId or receipt, once per key and message'),
    wait: wait.exactOptional().describe('How long to wait for the result of the transport, in ms'),
    at: moment
      .exactOptional()
      .describe(
        'Send at this time: 2026-12-24T18:00:00Z, or the next 14:00 or "monday 9:30" (UTC); at most 366 days ahead',
      ),
    in: span.exactOptional().describe('Send after this time: 30m, 2h, 3d'),
  })
    .refine(({ messageId, receipt, gateway, to }) => {
      const target = messageId === undefined ? (to ?? gateway) : gateway
      return [messageId, receipt, target].filter((each) => each !== undefined).length <= 1
    }, 'give messageId, or receipt, or gateway together with to: each of them chooses the recipient')
    .refine(
      ({ messageId, to, at, in: after }) =>
        messageId === undefined || to === undefined || (at === undefined && after === undefined),
      'an answer to another address (messageId with to) cannot be planned',
    )
    .describe(
      'Replies in the current conversation or to the message given by messageId or receipt, or sends to another target if the gateway allows it.',
    ),
  list: closed({}).describe('Lists running gateways and their health.'),
  /** Throws `gateway_not_found`, `forbidden`. */
  show: closed({
    gateway: name.describe('The gateway'),
  }).describe(
    'Shows one gateway: its state and since when, traffic, refusals by cause, pause, and last checks.',
  ),
  /** Throws `gateway_not_found`, `forbidden`. */
  reconnect: closed({
    gateway: name.describe('The gateway'),
  }).describe(
    'Reconnects one gateway of this daemon and returns its status. Other gateways are not affected.',
  ),
}

/** Workspaces that installed an app by OAuth: `slack-…`. */
export const installs = {
  installs: closed({
    gateway: optional('Only those of this gateway'),
  }).describe('Lists the workspaces that installed a Slack app by OAuth.'),
  /** Throws `not_found`. */
  'installs-remove': closed({
    team: name.describe('The id of the workspace or the organisation'),
    gateway: optional('Only from this gateway'),
  }).describe('Removes an installation of a Slack app, and revokes its tokens.'),
}

/**
 * The refused deliveries that this daemon remembers, and the traffic of gateways. These names have no
 * prefix: `refused`.
 */
export const refusals = {
  refused: closed({
    gateway: optional('Only refusals of this gateway'),
  }).describe('Lists recent refusals of gateways: time, origin, reason, and the start of the body.'),
  /**
   * Throws `gateway_not_found`, `forbidden`, `refused_gone`. The secret is neither stored nor
   * logged.
   */
  'refused-try': closed({
    gateway: name.describe('The gateway'),
    id: spoken(optional('The refused delivery, an id of the list of refusals; default: the newest'), {
      id: 'refusal',
    }),
    secret: name
      .max(4_000)
      .meta({ format: 'password' })
      .describe('The secret to try; it is neither stored nor logged'),
  }).describe('Checks a refused delivery with another secret, without accepting it.'),
  /** Throws `gateway_not_found`, `forbidden`. */
  'gateway-traffic': closed({
    gateway: optional('Only this gateway'),
    since: time
      .exactOptional()
      .describe('Also its history from this time on, or an age such as 6h. Needs `gateway`'),
    until: time.exactOptional().describe('The history up to this time, or an age such as 2h'),
    width: z
      .int()
      .min(MINUTE)
      .max(28 * DAY)
      .exactOptional()
      .describe('Length of a span of the history in ms, to continue a previous call'),
  })
    .refine(({ gateway, since, until, width }) => {
      const hasHistory = [since, until, width].some((each) => each !== undefined)
      return gateway !== undefined || !hasHistory
    }, 'since, until and width need gateway')
    .describe(
      'Shows the traffic of each gateway in the last hour: rate, last message, share of refusals. With `since`, also the messages, failed ones and refusals over time.',
    ),
}
