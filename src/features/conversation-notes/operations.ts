import { z } from 'zod'
import { closed, name } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

/** Maximum characters of a note. */
const MAX_TEXT = 10_000

/** Notes in conversations, which only colleagues see: `conversation-note…`. */
export const conversationNotes = {
  /** Throws `not_found`, `forbidden`, `limit_reached`. */
  note: closed({
    gateway: name.describe('The gateway'),
    conversation: spoken(name.describe('The conversation'), { id: 'conversation' }),
    text: z
      .string()
      .trim()
      .min(1)
      .max(MAX_TEXT, 'expected at most 10,000 characters')
      .describe('What colleagues should know, up to 10,000 characters'),
  }).describe('Adds a note to a conversation: colleagues see it, and it is never sent.'),
  /** Throws `not_found`, and `forbidden`: a program deletes only its own notes. */
  'note-delete': closed({
    id: name.describe('The id of the note'),
  }).describe('Deletes a note of a conversation.'),
}
