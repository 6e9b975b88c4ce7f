import { z } from 'zod'

/**
 * Where a reply goes. It is made from the inbound mail alone, travels with the message and its reply, and nothing
 * else is ever looked up to address one.
 */
export const replyTargetSchema = z.object({
  to: z.string(),
  name: z.string().exactOptional(),
  subject: z.string(),
  /** The mail's own id, for In-Reply-To. */
  messageId: z.string().exactOptional(),
  /** The References of the reply, oldest first. */
  references: z.array(z.string()),
  /** When the mail was written or received, whichever is earlier (Unix ms). */
  at: z.number(),
  /** Why no reply may be sent. */
  suppress: z.string().exactOptional(),
})

export type ReplyTarget = z.output<typeof replyTargetSchema>
