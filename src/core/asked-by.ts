import type { z } from 'zod'
import { defined } from '../lib/defined.ts'
import { type Message, messageSchema } from './message.ts'

/** The person who gets a later result: the fields of their message that a reply needs. */
export const askedBySchema = messageSchema
  .pick({ id: true, gateway: true, transport: true, conversation: true, data: true, trace: true })
  .strict()
export type AskedBy = z.infer<typeof askedBySchema>

/** Undefined for a call without a message: its result can only be returned directly. */
export function askedBy({ message }: { message?: Message }): AskedBy | undefined {
  if (!message) return undefined
  const { id, gateway, transport, conversation, trace } = message
  const { replyTarget, respond } = message.data
  return { id, gateway, transport, conversation, trace, data: defined({ replyTarget, respond }) }
}
