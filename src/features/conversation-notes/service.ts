import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import type { ConversationNote } from '../../core/conversation-note.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Retention } from '../../core/retention.ts'
import type { Store } from '../../core/store.ts'
import { newestMessage } from '../../engine/newest-message.ts'
import { createNotedList } from './noted-list.ts'
import type * as operations from './operations.ts'
import { createNoteRecords } from './records.ts'
import { createNotesFor, createWithNotes, isOfPerson } from './with-notes.ts'

/** Maximum number of notes of one conversation. */
const NOTES_PER_CONVERSATION = {
  most: 100,
  what: 'Notes of a conversation',
  todo: 'Delete some with `conversation-note-delete`.',
}

/** `conversation-note`, `conversation-note-delete`, and the notes in `conversation-show` and `conversation-list`. */
export function createConversationNotes(deps: {
  store: Pick<Store, 'kv' | 'journal'>
  retention(): Retention
  log: Pick<Log, 'warn'>
  now(): number
}) {
  const { store, now } = deps
  const records = createNoteRecords({ kv: store.kv, log: deps.log })
  const keptFor = (gateway: string) => {
    const { gateways, journal } = deps.retention()
    return gateways?.[gateway]?.maxAge ?? journal.maxAge
  }

  const service = {
    async note({ gateway, conversation, text }, call) {
      requirePerson(call)
      requireGateway(call.caller, gateway)
      await newestMessage(store.journal, gateway, conversation)
      requireRoom(NOTES_PER_CONVERSATION, await records.count({ gateway, conversation }))
      const note = { gateway, conversation, at: now(), by: authorOf(call.caller), text }
      return records.add(note, keptFor(gateway))
    },
    async 'note-delete'({ id }, call) {
      requirePerson(call)
      const note = await records.get(id)
      if (!note) throw new TriviumError('not_found', { path: `note ${id}` })
      requireGateway(call.caller, note.gateway)
      requireAuthor(note, call)
      return { ok: true, deleted: await records.remove(id) }
    },
  } satisfies ServiceOf<typeof operations.conversationNotes>
  const notesFor = createNotesFor(records.of)
  return { service, notesFor, withNotes: createWithNotes(notesFor), inList: createNotedList(records) }
}

/** Skills neither read nor write notes. */
function requirePerson(call: Call): void {
  if (isOfPerson(call)) return
  throw new TriviumError('forbidden', {
    what: 'A note in a conversation',
    reason: 'skills have no access to notes',
  })
}

function requireAuthor({ by }: ConversationNote, { caller }: Call): void {
  if (by === authorOf(caller) || isOperator(caller)) return
  throw new TriviumError('forbidden', {
    what: `Deleting the note of ${by}`,
    reason: 'only its author and operators may delete it',
  })
}
