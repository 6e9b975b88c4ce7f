import type { Accepted, Message, NewMessage } from '../../core/message.ts'
import { decodeMessage, encodeMessage } from '../../core/message.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { Journal, MessageFilter, Note } from '../../core/store.ts'
import type { JobRows } from './job-rows.ts'
import type { Parts } from './parts.ts'
import { int, maybeText, prepareAll, type Row, text } from './sql.ts'

/** The queue that the pump adds to. */
const DISPATCH = 'dispatch'

const ROADS = ['dispatch', 'receive', 'outbox'] as const

/** The journal, and what other parts of the store need of it, all synchronous. */
export type JournalTable = Journal & {
  /** The message at a position. */
  at(seq: number): Message | undefined
  /** The position of an id, if that very message is there. */
  find(id: string): number | undefined
  /** Messages after a position, oldest first. */
  after(seq: number, max: number): { position: number; message: Message }[]
  /** The position of the oldest message, if there is one. */
  first(): number | undefined
  /** Inside a transaction only. The caller knows that the message is there. */
  addNotes(seq: number, notes: readonly Note[]): void
}

export function createJournal(parts: Parts, rows: JobRows): JournalTable {
  const { db, writer, counters, gateways, queues, keys, signals } = parts
  const sql = prepareAll(db, 'journal.sql')
  const [insert, ready, insertNote] = [sql('insert'), sql('ready'), sql('note')]
  const [selectAt, selectAfter, idAt] = [sql('at'), sql('after'), sql('idAt')]

  function append(messages: readonly NewMessage[]): Accepted[] {
    const now = parts.now()
    return messages.map((message) => {
      const hash = message.key === undefined ? undefined : keys.hash('message', message.gateway, message.key)
      const first = hash && keys.find(hash, now)
      return first ? { id: first, duplicate: true } : { id: appendOne(message, now, hash), duplicate: false }
    })
  }

  function appendOne(message: NewMessage, now: number, hash: string | undefined): string {
    const seq = counters.add('journal', 1)
    const id = makeId(parts.idTime(), seq)
    const gateway = gateways.number(message.gateway)
    const conversation = message.conversation ?? null
    insert.run(seq, id, gateway, message.receivedAt ?? now, conversation, encodeMessage(message))
    ready.run(gateway, seq, conversation)
    if (hash) keys.remember(hash, id)
    counters.add('messages', 1)
    counters.add('ready', 1)
    signals.raise('journal')
    signals.raise('receive')
    signals.raise('topic:gateway-message')
    return id
  }

  function find(id: string): number | undefined {
    const seq = positionOf(id)
    if (seq === undefined) return undefined
    return idAt.get(seq)?.id === id ? seq : undefined
  }

  function at(seq: number): Message | undefined {
    const row = selectAt.get(seq)
    return row && toMessage(row)
  }

  function after(seq: number, max: number): { position: number; message: Message }[] {
    return selectAfter.all(seq, max).map((row) => ({ position: int(row.seq), message: toMessage(row) }))
  }

  function addNotes(seq: number, notes: readonly Note[]): void {
    for (const { at, road, what, detail } of notes) {
      insertNote.run(seq, at, ROADS.indexOf(road), what, detail === undefined ? null : JSON.stringify(detail))
    }
  }

  function list({ gateway, conversation, before, limit }: MessageFilter): Message[] {
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : (positionOf(before) ?? 0)
    const number = gateway === undefined ? 0 : gateways.find(gateway)
    if (number === undefined) return []
    if (conversation !== undefined) return ofConversation(conversation, number, end, limit)
    if (number === 0) return sql('newest').all(end, limit).map(toMessage)
    return sql('newestOfGateway')
      .all(number, end, limit)
      .flatMap((row) => at(int(row.seq)) ?? [])
  }

  function ofConversation(conversation: string, gateway: number, end: number, limit: number): Message[] {
    const found = sql('newestOfConversation').all(conversation, end, gateway, limit)
    const messages = found.flatMap((row) => at(int(row.seq)) ?? [])
    // A message that is its own conversation has no index entry: its position is in the id.
    const own = find(conversation)
    const alone = own === undefined || own >= end ? undefined : at(own)
    const fits =
      alone?.conversation === conversation && (gateway === 0 || gateways.find(alone.gateway) === gateway)
    if (alone && fits && messages.every(({ id }) => id !== alone.id)) messages.push(alone)
    return messages.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
  }

  return {
    at,
    find,
    after,
    addNotes,
    first: () => {
      const row = sql('first').get()
      return row && int(row.seq)
    },
    accept: (messages) =>
      messages.length === 0 ? Promise.resolve([]) : writer.write(() => append(messages)),
    get: (id) =>
      parts.read(() => {
        const seq = find(id)
        return seq === undefined ? undefined : at(seq)
      }),
    list: (filter) => parts.read(() => list(filter)),
    note: (id, notes) =>
      writer.write(() => {
        const seq = find(id)
        if (seq !== undefined) addNotes(seq, notes)
      }),
    history: (id) =>
      parts.read(() => {
        const seq = find(id)
        return seq === undefined ? [] : sql('history').all(seq).map(toNote)
      }),
    unpumped: (max) =>
      parts.read(() => {
        const cursor = counters.get('pump')
        return { cursor, messages: after(cursor, max) }
      }),
    // Cursor and jobs are undone together, and then the pump repeats them.
    pumped: (from, to, jobs) =>
      writer.writeRepeatable(() => {
        if (counters.get('pump') !== from) return false
        counters.set('pump', to)
        for (const job of jobs) rows.insert(queues.number(DISPATCH), DISPATCH, job)
        return true
      }),
  }
}

function toMessage(row: Row): Message {
  const head = { id: text(row.id), gateway: text(row.gateway), receivedAt: int(row.received_at) }
  return decodeMessage(head, text(row.payload))
}

function toNote(row: Row): Note {
  const road = ROADS[int(row.road)] ?? 'dispatch'
  const detail = maybeText(row.detail)
  const note = { at: int(row.at), road, what: text(row.what) }
  return detail === undefined ? note : { ...note, detail: JSON.parse(detail) }
}
