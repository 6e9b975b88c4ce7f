import type { Note } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Parts } from './parts.ts'
import { fromJson, toJson } from './sql.ts'

/** Numbers of notes start here, above those of older versions. */
const FIRST_NOTE = 1_000_000

/** The roads. The store has the index of a road in this list. */
export const ROADS = ['dispatch', 'receive', 'outbox', 'push'] as const

type NoteRow = { at: number; road: number; what: string; detail: string | null }

/** The histories of messages. All synchronous; writes inside a transaction only. */
export function createNotes({ sql, counters }: Pick<Parts, 'sql' | 'counters'>) {
  /**
   * Numbers notes across all messages, which needs no read. Older versions numbered them per
   * message.
   */
  const nextNote = () => counters.set('notes', Math.max(counters.get('notes'), FIRST_NOTE) + 1)

  /** Adds notes to a message that is in the journal. */
  function append(seq: number, notes: readonly Note[]): void {
    for (const { at, road, what, detail } of notes)
      sql.run`INSERT INTO note (seq, n, at, road, what, detail)
        VALUES (${seq}, ${nextNote()}, ${at}, ${ROADS.indexOf(road)}, ${what}, ${toJson(detail)})`
  }

  return {
    append,
    /** Adds notes to the message at a position, if it exists and has that id (null: any id). */
    appendIfThere(seq: number, id: string | null, notes: readonly Note[]): void {
      const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq = ${seq}`
      if (row && row.id === (id ?? row.id)) append(seq, notes)
    },
    /** The notes of a message, oldest first. */
    of: (seq: number): Note[] =>
      sql.all<NoteRow>`SELECT at, road, what, detail FROM note WHERE seq = ${seq} ORDER BY n`.map(toNote),
  }
}

function toNote({ at, road, what, detail }: NoteRow): Note {
  return { at, road: ROADS[road] ?? 'dispatch', what, ...defined({ detail: fromJson(detail) }) }
}
