import { decodeMessage, type Message } from '../../core/message.ts'
import { positionOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { Journal } from '../../core/store.ts'
import { createFreshMessages, type FreshMessages } from '../shared/fresh-messages.ts'
import { insertJob } from './job-rows.ts'
import { createAppend } from './journal-append.ts'
import { createNotes } from './notes.ts'
import type { Parts } from './parts.ts'
import { readPage } from './sql.ts'

type Place = { seq: number }
type MessageRow = Place & { id: string; gateway: string; received_at: number; payload: string }

/**
 * Messages per read for dispatch. More of them would survive V8's young generation, and make
 * dispatch 5 % more expensive.
 */
const MOST_UNPUMPED = 128

export type JournalTable = ReturnType<typeof createJournal>

/** The journal, and its synchronous functions for other parts of the store. */
export function createJournal(parts: Parts, searching: Pick<Journal, 'search' | 'countByTime'>) {
  const { sql, writer, counters } = parts
  const fresh = createFreshMessages()
  const append = createAppend(parts, fresh)
  const notes = createNotes(parts)
  writer.follow({ rolledBack: fresh.clear })

  /** The position of an id, if the journal has that message. */
  function find(id: string): number | undefined {
    const seq = positionOf(id)
    if (seq === undefined) return undefined
    const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq = ${seq}`
    return row?.id === id ? seq : undefined
  }

  const isThere = (id: string) => find(id) !== undefined

  function at(seq: number): Message | undefined {
    const row = sql.get<MessageRow>`SELECT * FROM message WHERE seq = ${seq}`
    return row && toMessage(row)
  }

  /** Messages after a position, oldest first. */
  const after = (seq: number, max: number) => {
    const rows = sql.iterate<MessageRow>`SELECT * FROM message WHERE seq > ${seq} ORDER BY seq LIMIT ${max} + 1`
    const toPlaced = (row: MessageRow) => ({ position: row.seq, message: toMessage(row) })
    return readPage(rows, max, toPlaced, ({ message }) => message.text)
  }

  const outcome = (id: string) =>
    sql.get<{ outcome: Outcome }>`SELECT outcome FROM message_outcome
      WHERE seq = ${positionOf(id) ?? 0} AND id = ${id}`?.outcome

  const outcomes = (ids: readonly string[]) => parts.read(() => ids.map(outcome))

  const journal: Journal = {
    accept: (messages) =>
      messages.length === 0 ? Promise.resolve([]) : writer.write(() => append(messages)),
    get: (id) =>
      parts.read(() => {
        const seq = find(id)
        return seq === undefined ? undefined : at(seq)
      }),
    ...searching,
    outcomes,
    outcomesIfReachable: outcomes,
    note: (id, given) =>
      writer.write(() => {
        const seq = positionOf(id)
        if (seq !== undefined) notes.appendIfThere(seq, id, given)
      }),
    history: (id) => parts.read(() => notes.of(find(id) ?? 0)),
    unpumped: (max) =>
      fresh.unpumped(max, () =>
        parts.read(() => {
          const cursor = counters.get('pump')
          if (cursor === counters.get('journal')) return { cursor, items: [], more: false }
          const { items, more } = after(cursor, Math.min(max, MOST_UNPUMPED))
          return { cursor, items: items.map(({ message }) => message), more }
        }),
      ),
    pumped: createPumped(parts, fresh, isThere),
  }
  /** Takes a recently pumped message from memory, once. */
  const takePumped = (id: string): Message | undefined => fresh.pumped().take(id)?.message
  const { append: appendNotes, appendIfThere: appendNotesIfThere } = notes
  const table = { at, find, after, appendNotes, appendNotesIfThere, takePumped }
  return { ...journal, ...table, forgetFresh: fresh.clear }
}

/**
 * Makes `Journal.pumped`. A power failure loses the cursor and the jobs together; the pump then
 * repeats both.
 */
function createPumped(
  parts: Parts,
  fresh: FreshMessages,
  isThere: (id: string) => boolean,
): Journal['pumped'] {
  const { writer, counters } = parts
  return (cursor, last, jobs) => {
    const work = () => {
      // A job has the id of its message. The cache is contiguous: with the last message it has the
      // others too.
      const areThere = fresh.has(last) || [last, ...jobs.map(({ id }) => id)].every(isThere)
      const seq = counters.get('pump') === cursor && areThere ? positionOf(last) : undefined
      if (seq === undefined) {
        fresh.clear()
        return false
      }
      fresh.pumpedTo(last, jobs)
      counters.set('pump', seq)
      for (const job of jobs) insertJob(parts, 'dispatch', job)
      return true
    }
    return writer.writeRepeatable(work, { isUrgent: jobs.length > 0 })
  }
}

function toMessage({ id, gateway, received_at: receivedAt, payload }: MessageRow): Message {
  return decodeMessage({ id, gateway, receivedAt }, payload)
}
