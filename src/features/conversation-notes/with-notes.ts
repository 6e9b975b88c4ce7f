import type { Call } from '../../core/call.ts'
import type { ConversationNote } from '../../core/conversation-note.ts'
import { timeOf } from '../../core/message-id.ts'
import { isStoreAway } from '../../core/reachable.ts'

type Args = Pick<ConversationNote, 'gateway' | 'conversation'> & { before?: string }
/** `next`: the id of a message; older ones follow on the next page. */
type Shown = { next?: string | undefined }

/** Returns a function that adds to `conversation-show` the notes from the time of its entries. */
export function createWithNotes(notesOf: (place: Args) => Promise<ConversationNote[]>) {
  return <A extends Args, Result extends Shown>(show: (args: A, call: Call) => Promise<Result>) =>
    async (args: A, call: Call) => {
      const shown = await show(args, call)
      if (!isOfPerson(call)) return shown
      const all = await notesOf(args).catch(ignoreAway)
      const from = shown.next === undefined ? 0 : timeOf(shown.next)
      const to = args.before === undefined ? Infinity : timeOf(args.before)
      const notes = all
        .filter(({ at }) => at >= from && at < to)
        .map(({ id, at, by, text }) => ({ id, at, by, text }))
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
