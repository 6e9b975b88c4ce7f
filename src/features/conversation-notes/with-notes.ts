import type { Call } from '../../core/call.ts'
import type { ConversationNote } from '../../core/conversation-note.ts'
import { timeOf } from '../../core/message-id.ts'
import { isStoreAway } from '../../core/reachable.ts'

type Place = Pick<ConversationNote, 'gateway' | 'conversation'>
type Args = Place & { before?: string }
/** `next`: the id of a message; older ones follow on the next page. */
type Shown = { next?: string | undefined }

/** A note as the result of an operation that names its conversation has it. */
export type ShownNote = Pick<ConversationNote, 'id' | 'at' | 'by' | 'text'>

/** The notes of a conversation that the caller may read, oldest first. */
export type NotesFor = (place: Place, call: Call) => Promise<ShownNote[]>

/** Skills, and callers without access to the gateway, get none. */
export function createNotesFor(notesOf: (place: Place) => Promise<ConversationNote[]>): NotesFor {
  return async ({ gateway, conversation }, call) => {
    const { gateways } = call.caller
    if (!isOfPerson(call) || (gateways !== undefined && !gateways.includes(gateway))) return []
    const notes = await notesOf({ gateway, conversation }).catch(ignoreAway)
    return notes.map(({ id, at, by, text }) => ({ id, at, by, text }))
  }
}

/** Returns a function that adds to `conversation-show` the notes from the time of its entries. */
export function createWithNotes(notesFor: NotesFor) {
  return <A extends Args, Result extends Shown>(show: (args: A, call: Call) => Promise<Result>) =>
    async (args: A, call: Call) => {
      const shown = await show(args, call)
      const all = await notesFor(args, call)
      const from = shown.next === undefined ? 0 : timeOf(shown.next)
      const to = args.before === undefined ? Infinity : timeOf(args.before)
      const notes = all.filter(({ at }) => at >= from && at < to)
      return notes.length === 0 ? shown : { ...shown, notes }
    }
}

/** Whether a person or a program made the call itself: skills have no access to notes. */
export function isOfPerson({ depth, caller }: Pick<Call, 'depth' | 'caller'>): boolean {
  return depth === 0 && caller.kind !== 'route'
}

/** The messages can be shown without the notes of a shard that cannot be reached. */
function ignoreAway(error: unknown): ConversationNote[] {
  if (isStoreAway(error)) return []
  throw error
}
