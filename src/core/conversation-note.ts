import { z } from 'zod'

/** A comment of an operator in a conversation, which only colleagues see. */
export const conversationNoteSchema = z.object({
  id: z.string(),
  gateway: z.string(),
  conversation: z.string(),
  /** Unix ms. */
  at: z.number(),
  /** The author, as in the audit log. */
  by: z.string(),
  text: z.string(),
})

export type ConversationNote = z.infer<typeof conversationNoteSchema>

/** Key prefix of the notes, by id. */
export const NOTE_PREFIX = 'conversation-note:'
