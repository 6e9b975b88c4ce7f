import type { Accepted, Message, NewMessage } from '../../core/message.ts'
import { decodeMessage, encodeMessage } from '../../core/message.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { Journal, MessageFilter, Note } from '../../core/store.ts'
import { createFreshMessages } from '../shared/fresh-messages.ts'
import { insertJob } from './job-rows.ts'
import type { Parts } from './parts.ts'
import { int, maybeJson, type Row, readSome, text, toJson } from './sql.ts'

/** The queue that the pump adds to. */
const DISPATCH = 'dispatch'

const ROADS = ['dispatch', 'receive', 'outbox'] as const

const MESSAGE = `SELECT j.seq, j.id, g.name AS gateway, j.received_at, j.payload
  FROM journal j CROSS JOIN gateway g ON g.id = j.gateway`
const AT = `${MESSAGE} WHERE j.seq = ?`
const AFTER = `${MESSAGE} WHERE j.seq > ? ORDER BY j.seq LIMIT ? + 0`

const NEWEST = 'SELECT seq FROM journal WHERE seq < ? ORDER BY seq DESC LIMIT ? + 0'
const OF_GATEWAY = 'SELECT seq FROM journal WHERE gateway = ? AND seq < ? ORDER BY seq DESC LIMIT ? + 0'
/** A message that is its own conversation has no index entry: its position is in the id. */
const OF_CONVERSATION = `SELECT seq FROM (SELECT seq, gateway FROM journal WHERE conversation = ?1
    UNION ALL SELECT seq, gateway FROM journal WHERE seq = ?2 AND id = ?1)
  WHERE seq < ?3 AND (?4 = 0 OR gateway = ?4) ORDER BY seq DESC LIMIT ?5 + 0`

export type JournalTable = ReturnType<typeof createJournal>

/** The journal, and what other parts of the store need of it, all synchronous. */
export function createJournal(parts: Parts) {
  const { sql, writer, counters, gateways, queues, keys, signals } = parts
  const fresh = createFreshMessages()
  writer.follow({ rolledBack: () => fresh.pumpedTo(undefined) })

  function append(messages: readonly NewMessage[]): Accepted[] {
    const now = parts.now()
    return messages.map((message) => {
      const hash = message.key === undefined ? undefined : keys.hash('message', message.gateway, message.key)
      const first = hash && keys.find(hash, now)
      return first ? { id: first, duplicate: true } : { id: appendOne(message, now, hash), duplicate: false }
    })
  }

  function appendOne(message: NewMessage, now: number, hash: Buffer | undefined): string {
    const seq = counters.add('journal', 1)
    const id = makeId(parts.idTime(), seq)
    const gateway = gateways.number(message.gateway)
    const conversation = message.conversation ?? null
    const receivedAt = message.receivedAt ?? now
    const payload = encodeMessage(message)
    sql(
      `INSERT INTO journal (seq, id, gateway, received_at, conversation, payload) VALUES (?, ?, ?, ?, ?, ?)`,
    ).run(seq, id, gateway, receivedAt, conversation, payload)
    sql('INSERT INTO receive (gateway, seq, conversation) VALUES (?, ?, ?)').run(gateway, seq, conversation)
    if (hash) keys.remember(hash, id)
    counters.add('messages', 1)
    counters.add('ready', 1)
    signals.raise('journal')
    signals.raise('receive')
    signals.raise('topic:gateway-message')
    fresh.accepted(id, message, now, payload.length)
    return id
  }

  /** The position of an id, if that very message is there. */
  function find(id: string): number | undefined {
    const seq = positionOf(id)
    if (seq === undefined) return undefined
    return sql('SELECT id FROM journal WHERE seq = ?').get(seq)?.id === id ? seq : undefined
  }

  function at(seq: number): Message | undefined {
    const row = sql(AT).get(seq)
    return row && toMessage(row)
  }

  /** Messages after a position, oldest first; fewer where they are large. */
  const after = (seq: number, max: number) => {
    const toPlaced = (row: Row) => ({ position: int(row.seq), message: toMessage(row) })
    return readSome(sql(AFTER).iterate(seq, max), toPlaced, ({ message }) => message.text)
  }

  /** Notes for the message of that position (and id), if it is there. Inside a transaction only. */
  function addNotes(seq: number, id: string | null, notes: readonly Note[]): void {
    const insert = sql(`INSERT INTO note (seq, n, at, road, what, detail)
      SELECT seq, coalesce((SELECT max(n) + 1 FROM note WHERE seq = ?1), 0), ?3, ?4, ?5, ?6
      FROM journal WHERE seq = ?1 AND id = coalesce(?2, id)`)
    for (const { at, road, what, detail } of notes)
      insert.run(seq, id, at, ROADS.indexOf(road), what, toJson(detail))
  }

  function list({ gateway, conversation, before, limit }: MessageFilter): Message[] {
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : (positionOf(before) ?? 0)
    const number = gateway === undefined ? 0 : gateways.find(gateway)
    if (number === undefined) return []
    const found = () => {
      if (conversation !== undefined)
        return sql(OF_CONVERSATION).all(conversation, positionOf(conversation) ?? 0, end, number, limit)
      return number === 0 ? sql(NEWEST).all(end, limit) : sql(OF_GATEWAY).all(number, end, limit)
    }
    return found().flatMap((row) => at(int(row.seq)) ?? [])
  }

  const journal: Journal = {
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
        const seq = positionOf(id)
        if (seq !== undefined) addNotes(seq, id, notes)
      }),
    history: (id) =>
      parts.read(() => {
        const seq = find(id)
        if (seq === undefined) return []
        return sql('SELECT at, road, what, detail FROM note WHERE seq = ? ORDER BY n').all(seq).map(toNote)
      }),
    unpumped: (max) =>
      fresh.unpumped(max, () =>
        parts.read(() => {
          const cursor = counters.get('pump')
          return { cursor, messages: after(cursor, max).found.map(({ message }) => message) }
        }),
      ),
    // Cursor and jobs are undone together, and then the pump repeats them.
    pumped: (cursor, last, jobs) =>
      writer.writeRepeatable(() => {
        const seq = counters.get('pump') === cursor ? find(last) : undefined
        fresh.pumpedTo(seq === undefined ? undefined : last)
        if (seq === undefined) return false
        counters.set('pump', seq)
        for (const job of jobs) insertJob(parts, queues.number(DISPATCH), DISPATCH, job)
        return true
      }),
  }
  /** What was pumped last, from memory: a message, once. */
  const takePumped = (id: string): Message | undefined => {
    const message = fresh.pumped().get(id)
    fresh.pumped().delete(id)
    return message
  }
  return { ...journal, at, find, after, addNotes, takePumped }
}

function toMessage(row: Row): Message {
  const head = { id: text(row.id), gateway: text(row.gateway), receivedAt: int(row.received_at) }
  return decodeMessage(head, text(row.payload))
}

function toNote(row: Row): Note {
  const road = ROADS[int(row.road)] ?? 'dispatch'
  const detail = maybeJson(row.detail)
  return { at: int(row.at), road, what: text(row.what), ...(detail === undefined ? {} : { detail }) }
}
