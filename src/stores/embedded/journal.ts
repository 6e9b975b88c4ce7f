import { decodeMessage, encodeMessage, type Message, type NewMessage } from '../../core/message.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { Outcome } from '../../core/message-query.ts'
import type { Journal, Note } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { createFreshMessages } from '../shared/fresh-messages.ts'
import { insertJob } from './job-rows.ts'
import type { Parts } from './parts.ts'
import { fromJson, readPage, toJson } from './sql.ts'

/** Above the numbers used by older versions. */
const FIRST_NOTE = 1_000_000

const ROADS = ['dispatch', 'receive', 'outbox'] as const

type Place = { seq: number }
type MessageRow = Place & { id: string; gateway: string; received_at: number; payload: string }
type NoteRow = { at: number; road: number; what: string; detail: string | null }

export type JournalTable = ReturnType<typeof createJournal>

/** The journal, and its synchronous functions for other parts of the store. */
export function createJournal(parts: Parts, searching: Pick<Journal, 'search' | 'countByTime'>) {
  const { sql, writer, counters, gateways, keys, signals } = parts
  const fresh = createFreshMessages()
  writer.follow({ rolledBack: () => fresh.pumpedTo(undefined) })

  function append(messages: readonly NewMessage[]) {
    const now = parts.now()
    const before = counters.get('journal')
    const answers = messages.map((message) => {
      const hash = message.key === undefined ? undefined : keys.hash('message', message.gateway, message.key)
      const first = hash && keys.find(hash, now)
      return first ? { id: first, duplicate: true } : { id: appendOne(message, now, hash), duplicate: false }
    })
    const added = counters.get('journal') - before
    if (added > 0) {
      counters.add('messages', added)
      counters.add('ready', added)
      for (const name of ['journal', 'receive', 'topic:gateway-message'] as const) signals.raise(name)
    }
    return answers
  }

  function appendOne(message: NewMessage, now: number, hash: Buffer | undefined): string {
    const seq = counters.add('journal', 1)
    const id = makeId(parts.idTime(), seq)
    const gateway = gateways.number(message.gateway)
    const conversation = message.conversation ?? null
    const receivedAt = message.receivedAt ?? now
    const payload = encodeMessage(message)
    sql.run`INSERT INTO journal (seq, id, gateway, received_at, conversation, payload)
      VALUES (${seq}, ${id}, ${gateway}, ${receivedAt}, ${conversation}, ${payload})`
    if (hash) keys.remember(hash, id)
    fresh.accepted(id, seq, message, now, payload.length)
    return id
  }

  /** The position of an id, if the journal has that message. */
  function find(id: string): number | undefined {
    const seq = positionOf(id)
    if (seq === undefined) return undefined
    const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq = ${seq}`
    return row?.id === id ? seq : undefined
  }

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

  /** Adds notes to the message at a position (with that id), if it exists. Only inside a transaction. */
  function addNotes(seq: number, id: string | null, notes: readonly Note[]): void {
    const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq = ${seq}`
    if (row && row.id === (id ?? row.id)) appendNotes(seq, notes)
  }

  /** Adds notes to an existing message. Only inside a transaction. */
  function appendNotes(seq: number, notes: readonly Note[]): void {
    for (const { at, road, what, detail } of notes)
      sql.run`INSERT INTO note (seq, n, at, road, what, detail)
        VALUES (${seq}, ${nextNote()}, ${at}, ${ROADS.indexOf(road)}, ${what}, ${toJson(detail)})`
  }

  /** Numbers notes across all messages, which needs no read. Older versions numbered them per message. */
  const nextNote = () => counters.set('notes', Math.max(counters.get('notes'), FIRST_NOTE) + 1)

  const outcome = (id: string) =>
    sql.get<{ outcome: Outcome }>`SELECT outcome FROM standing
      WHERE seq = ${positionOf(id) ?? 0} AND id = ${id}`?.outcome

  const journal: Journal = {
    accept: (messages) =>
      messages.length === 0 ? Promise.resolve([]) : writer.write(() => append(messages)),
    get: (id) =>
      parts.read(() => {
        const seq = find(id)
        return seq === undefined ? undefined : at(seq)
      }),
    ...searching,
    outcomes: (ids) => parts.read(() => ids.map(outcome)),
    note: (id, notes) =>
      writer.write(() => {
        const seq = positionOf(id)
        if (seq !== undefined) addNotes(seq, id, notes)
      }),
    history: (id) =>
      parts.read(() => {
        const seq = find(id)
        if (seq === undefined) return []
        return sql.all<NoteRow>`SELECT at, road, what, detail FROM note WHERE seq = ${seq} ORDER BY n`.map(
          toNote,
        )
      }),
    unpumped: (max) =>
      fresh.unpumped(max, () =>
        parts.read(() => {
          const cursor = counters.get('pump')
          if (cursor === counters.get('journal')) return { cursor, items: [], more: false }
          const { items, more } = after(cursor, max)
          return { cursor, items: items.map(({ message }) => message), more }
        }),
      ),
    // Cursor and jobs are lost together, and then the pump repeats them.
    pumped: (cursor, last, jobs) =>
      writer.writeRepeatable(() => {
        const place = fresh.has(last) ? positionOf(last) : find(last)
        const seq = counters.get('pump') === cursor ? place : undefined
        fresh.pumpedTo(seq === undefined ? undefined : last, jobs)
        if (seq === undefined) return false
        counters.set('pump', seq)
        for (const job of jobs) insertJob(parts, 'dispatch', job)
        return true
      }, jobs.length > 0),
  }
  /** Takes a recently pumped message from memory, once. */
  const takePumped = (id: string): Message | undefined => {
    const pumped = fresh.pumped().get(id)
    fresh.pumped().delete(id)
    return pumped?.message
  }
  return { ...journal, at, find, after, addNotes, appendNotes, takePumped }
}

function toMessage({ id, gateway, received_at: receivedAt, payload }: MessageRow): Message {
  return decodeMessage({ id, gateway, receivedAt }, payload)
}

function toNote({ at, road, what, detail }: NoteRow): Note {
  return { at, road: ROADS[road] ?? 'dispatch', what, ...defined({ detail: fromJson(detail) }) }
}
