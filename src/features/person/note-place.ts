import { allKeys } from '../../core/all-keys.ts'
import { type ConversationNote, conversationNoteSchema, NOTE_PREFIX } from '../../core/conversation-note.ts'
import { toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { ERASED } from '../../lib/erased.ts'
import { conversationKey } from './person.ts'
import { definePlace, type Place, type Subject } from './place.ts'

/** Number of notes that are read together. */
const BATCH = 100

/** `rest`: what the erasure leaves of the note; undefined: nothing. */
type Found = { key: string; version: number; note: ConversationNote; rest: ConversationNote | undefined }

/** The notes of operators in the person's conversations, and those that name the person. */
export function createNotePlace(kv: KeyValues): Place {
  const read = async (key: string, { person, about }: Subject): Promise<Found[]> => {
    const { value, version } = (await kv.get(key)) ?? { value: null, version: 0 }
    const note = conversationNoteSchema.safeParse(value).data
    if (!note) return []
    const isTheirs =
      person.conversations.has(conversationKey(note)) || about.mentions(note.conversation, note.gateway)
    if (isTheirs || about.isInKey(note.text, note.gateway)) return [{ key, version, note, rest: undefined }]
    return about.refersTo(note.by) ? [{ key, version, note, rest: { ...note, by: ERASED } }] : []
  }
  return definePlace<Found>({
    name: 'conversation notes',
    where: 'store',
    async *find(subject) {
      const keys = await allKeys(kv, NOTE_PREFIX)
      for (let at = 0; at < keys.length; at += BATCH)
        yield (await Promise.all(keys.slice(at, at + BATCH).map((key) => read(key, subject)))).flat()
    },
    // A person who wrote a note in a conversation of others gets no data of these.
    record: ({ note, rest }) => toJson(rest ? { id: note.id, at: note.at, by: note.by } : note),
    async erase(found) {
      for (const { key, version, rest } of found) {
        // Writes nothing if the note was deleted meanwhile.
        if (rest) await kv.set(key, rest, { ifVersion: version, keepTtl: true })
        else await kv.delete(key)
      }
    },
  })
}
