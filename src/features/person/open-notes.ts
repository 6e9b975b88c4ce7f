import type { Call } from '../../core/call.ts'
import type { ConversationNote } from '../../core/conversation-note.ts'

type Place = Pick<ConversationNote, 'gateway' | 'conversation'>
type ShownNote = Pick<ConversationNote, 'id' | 'at' | 'by' | 'text'>
/** See `createNotesFor`. */
export type NotesFor = (place: Place, call: Call) => Promise<ShownNote[]>

/** Maximum numbers of conversations whose notes are read, and of notes of each. */
const LIMITS = { conversations: 50, notes: 5 }

/**
 * Adds `notes`, the newest of colleagues, oldest first, to open things: to the first one of each
 * conversation, so that nobody contradicts them.
 */
export async function withOpenNotes<Open extends { gateway?: string; conversation?: string }>(
  things: readonly Open[],
  notesFor: NotesFor,
  call: Call,
): Promise<(Open & { notes?: ShownNote[] })[]> {
  const seen = new Set<string>()
  const read = things.map(async (thing) => {
    const { gateway, conversation } = thing
    if (gateway === undefined || conversation === undefined) return thing
    const key = JSON.stringify([gateway, conversation])
    if (seen.has(key) || seen.size >= LIMITS.conversations) return thing
    seen.add(key)
    const notes = (await notesFor({ gateway, conversation }, call)).slice(-LIMITS.notes)
    return notes.length === 0 ? thing : { ...thing, notes }
  })
  return Promise.all(read)
}
