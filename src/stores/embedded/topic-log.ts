import type { Event, NewEvent } from '../../core/event.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, maybeText, type Row, readSome, text } from './sql.ts'

/** The number of the topic that is a view of the journal. */
export const MESSAGES = 1

/** A topic that was published on or subscribed to. `last`: the position of its newest event ever. */
export type TopicRow = { id: number; name: string; last: number }

export type TopicLog = ReturnType<typeof createTopicLog>

type Some = { found: { position: number; event: Event }[]; isCut: boolean }

const EVENT = 'SELECT position, id, type, source, timestamp, root, data FROM event'
const AT = `${EVENT} WHERE topic = ? AND position = ?`
const AFTER = `${EVENT} WHERE topic = ? AND position > ? ORDER BY position LIMIT ? + 0`
const BETWEEN = 'SELECT position FROM event WHERE topic = ? AND position > ? AND position <= ?'
const MESSAGES_BETWEEN = 'SELECT seq AS position FROM journal WHERE seq > ? AND seq <= ?'

/**
 * The events of topics by position, wherever they are: in the table `event`, or for `gateway-message` in
 * the journal. All synchronous.
 */
export function createTopicLog(parts: Parts, journal: JournalTable) {
  const { sql, counters, keys, signals } = parts

  /** From a row with the columns `id` and `last` of a topic. */
  const toTopic = (row: Row, name: string): TopicRow => {
    const id = int(row.id)
    return { id, name, last: id === MESSAGES ? counters.get('journal') : int(row.last) }
  }
  const find = (name: string) => {
    const row = sql('SELECT id, last FROM topic WHERE name = ?').get(name)
    return row && toTopic(row, name)
  }
  /** As `find`, made where it is new. Inside a transaction only. */
  const open = (name: string) =>
    find(name) ?? toTopic(sql('INSERT INTO topic (name) VALUES (?) RETURNING id, last').get(name) ?? {}, name)

  /** Inside a transaction only. */
  function append(name: string, events: readonly NewEvent[]): string[] {
    const now = parts.now()
    const topic = open(name)
    let position = topic.last
    const insert = sql(`INSERT INTO event (topic, position, id, type, source, timestamp, root, data)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    const ids = events.map((event) => {
      const hash = event.key === undefined ? undefined : keys.hash('event', name, event.key)
      const first = hash && keys.find(hash, now)
      if (first) return first
      position++
      const id = makeId(parts.idTime(), position)
      const { type, source, timestamp = now, rootContextId = null, data } = event
      insert.run(topic.id, position, id, type, source, timestamp, rootContextId, JSON.stringify(data))
      if (hash) keys.remember(hash, id)
      return id
    })
    if (position > topic.last) {
      sql('UPDATE topic SET last = ? WHERE id = ?').run(position, topic.id)
      signals.raise(`topic:${name}`)
    }
    return ids
  }

  return {
    toTopic,
    find,
    open,
    append,
    /** Events after a position; fewer where they are large, and then `isCut`. */
    after: (topic: TopicRow, position: number, max: number): Some => {
      if (topic.id === MESSAGES) {
        const { found, isCut } = journal.after(position, max)
        const toPlaced = ({ position, message }: (typeof found)[0]) => ({
          position,
          event: parts.toEvent(message),
        })
        return { found: found.map(toPlaced), isCut }
      }
      const toPlaced = (row: Row) => ({ position: int(row.position), event: toEvent(row, topic.name) })
      return readSome(sql(AFTER).iterate(topic.id, position, max), toPlaced, (_, row) => text(row.data))
    },
    /** The positions after `from`, up to `to`, at which there are events. */
    positions: ({ id }: TopicRow, from: number, to: number): number[] => {
      const rows = id === MESSAGES ? sql(MESSAGES_BETWEEN).all(from, to) : sql(BETWEEN).all(id, from, to)
      return rows.map((row) => int(row.position))
    },
    /** The event at a position, with the text that it was made from. */
    at: (topic: TopicRow, position: number): { event: Event; source: string } | undefined => {
      if (topic.id === MESSAGES) {
        const message = journal.at(position)
        return message && { event: parts.toEvent(message), source: message.text }
      }
      const row = sql(AT).get(topic.id, position)
      return row && { event: toEvent(row, topic.name), source: text(row.data) }
    },
    /** The position of an id, if that very event is there. */
    positionOf: (topic: TopicRow, id: string): number | undefined => {
      if (topic.id === MESSAGES) return journal.find(id)
      const position = positionOf(id)
      return position !== undefined && sql(AT).get(topic.id, position)?.id === id ? position : undefined
    },
    /** The position of the oldest event there; one past the end of an empty topic. */
    first: (topic: TopicRow): number => {
      const row =
        topic.id === MESSAGES
          ? sql('SELECT min(seq) AS position FROM journal').get()
          : sql('SELECT min(position) AS position FROM event WHERE topic = ?').get(topic.id)
      return maybeInt(row?.position) ?? topic.last + 1
    },
  }
}

function toEvent(row: Row, topic: string): Event {
  const root = maybeText(row.root)
  return {
    id: text(row.id),
    topic,
    type: text(row.type),
    source: text(row.source),
    data: JSON.parse(text(row.data)),
    timestamp: int(row.timestamp),
    ...(root === undefined ? {} : { rootContextId: root }),
  }
}
