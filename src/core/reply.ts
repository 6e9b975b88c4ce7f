import { z } from 'zod'
import { type Json, jsonObjectSchema } from './json.ts'
import { attachmentSchema } from './message.ts'

/** A reply, as the outbox passes it to a transport. */
export const replySchema = z.object({
  /** The idempotency key of this send. */
  key: z.string(),
  gateway: z.string(),
  conversation: z.string(),
  /** `data.replyTarget` of the answered message. */
  target: jsonObjectSchema.exactOptional(),
  /** An explicit target instead of the sender; only on gateways with `open: true`. */
  to: z.string().exactOptional(),
  /** Further targets beside `to`. */
  moreTo: z.array(z.string()).exactOptional(),
  /**
   * `cc`, `bcc`: further recipients. Only transports with `copies: true` support them; explicit
   * addresses need `open: true`.
   */
  cc: z.array(z.string()).exactOptional(),
  bcc: z.array(z.string()).exactOptional(),
  /** Reply to all recipients of the inbound message. */
  replyAll: z.literal(true).exactOptional(),
  /** The answer to the invitation in the message. */
  calendar: z.enum(['accept', 'tentative', 'decline']).exactOptional(),
  text: z.string(),
  subject: z.string().exactOptional(),
  attachments: z.array(attachmentSchema).exactOptional(),
  /** The id of the answered message. */
  inReplyTo: z.string().exactOptional(),
  /** The sender, for the history: `route refunds`, `http control`. */
  by: z.string().exactOptional(),
  data: jsonObjectSchema.exactOptional(),
})

export type Reply = z.infer<typeof replySchema>

/** Where a reply in progress will go. */
export type ReplyPlace = Pick<Reply, 'conversation' | 'target'> & { inReplyTo: string }

/** A piece of a reply in progress. */
export type ReplyPiece = ReplyPlace & {
  /** The new text. */
  delta: string
  /** The complete text so far. */
  text: string
}

/**
 * Thrown by `send` if a rate limit postponed the reply. `send` is called again after `delay` ms.
 * The transport must remember, by key, any part of the reply that it already sent.
 */
export class SendPostponed extends Error {
  readonly delay: number
  constructor(delay: number) {
    super(`its turn comes in ${delay} ms`)
    this.name = 'SendPostponed'
    this.delay = delay
  }
}

/** Result of `probe`. `how`: what a person can do to find out, if the transport cannot. */
export type Probed = { sent: true; receipt: Receipt } | { sent: false } | { sent: 'unknown'; how?: string }

/**
 * Result of a send: the provider's id and further data. With `data.suppressed`, the reason, the
 * reply was not sent and will not be.
 */
export type Receipt = { id: string; data?: Json }
