import { createHash, randomInt } from 'node:crypto'
import { allKeys } from '../../core/all-keys.ts'
import { type ConversationNote, conversationNoteSchema, NOTE_PREFIX } from '../../core/conversation-note.ts'
import type { Log } from '../../core/log.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import type { KeyValues } from '../../core/store.ts'

type Place = Pick<ConversationNote, 'gateway' | 'conversation'>

/**
 * Stores each note under its id. An id begins with a hash of the conversation and the time, so a
 * prefix lists the notes of one conversation, oldest first.
 */
export function createNoteRecords({ kv, log }: { kv: KeyValues; log: Pick<Log, 'warn'> }) {
  const records = createRecordReader('notes of conversations', conversationNoteSchema, log)
  const read = async (key: string) => records.read(key, (await kv.get(key))?.value)

  return {
    /** Stores a note for `ttl` ms. */
    async add(note: Omit<ConversationNote, 'id'>, ttl: number): Promise<ConversationNote> {
      const added = { ...note, id: makeNoteId(note) }
      await kv.set(NOTE_PREFIX + added.id, added, { ttl })
      return added
    },
    get: (id: string) => read(NOTE_PREFIX + id),
    remove: (id: string) => kv.delete(NOTE_PREFIX + id),
    /** The number of notes of a conversation. */
    count: async (place: Place) => (await allKeys(kv, prefixOf(place))).length,
    /** Up to `limit` readable notes, newest first. */
    async newest(limit: number): Promise<ConversationNote[]> {
      const keys = await allKeys(kv, NOTE_PREFIX)
      const timeIn = (key: string) => key.slice(PREFIX_LENGTH)
      const newest = keys.toSorted((a, b) => (timeIn(a) < timeIn(b) ? 1 : -1)).slice(0, limit)
      return (await Promise.all(newest.map(read))).filter((note) => note !== undefined)
    },
    /** The readable notes of a conversation, oldest first. */
    async of(place: Place): Promise<ConversationNote[]> {
      const found = await Promise.all((await allKeys(kv, prefixOf(place))).map(read))
      return found.filter((note) => note !== undefined)
    },
  }
}

const HASH_LENGTH = 16
/** The length of the prefix of the keys of one conversation, with its hyphen. */
const PREFIX_LENGTH = NOTE_PREFIX.length + HASH_LENGTH + 1
/** The random end of an id, in base 36. */
const END = { size: 36 ** 4, length: 4 }

function prefixOf({ gateway, conversation }: Place): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([gateway, conversation]))
    .digest('hex')
  return `${NOTE_PREFIX}${hash.slice(0, HASH_LENGTH)}-`
}

/** The length of the time is the same until the year 2059. */
function makeNoteId({ at, ...place }: Omit<ConversationNote, 'id'>): string {
  const end = randomInt(END.size).toString(36).padStart(END.length, '0')
  return `${prefixOf(place).slice(NOTE_PREFIX.length)}${Math.round(at).toString(36)}${end}`
}
