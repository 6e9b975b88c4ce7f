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

/** The events of a topic, or for `gateway-message` the journal, with the columns topic, position and id. */
export const tableOf = (topic: number) =>
  topic === MESSAGES ? `(SELECT ${MESSAGES} AS topic, seq AS position, id FROM journal)` : 'event'

const AFTER = `SELECT position, id, type, source, timestamp, root, data FROM event
  WHERE topic = ? AND position > ? ORDER BY position LIMIT ? + 0`

/** The events of topics by position, wherever they are. All synchronous. */
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
    /** Events after a position, each with the text that it was made from; fewer where they are large, and then `isCut`. */
    after: (topic: TopicRow, position: number, max: number) => {
      if (topic.id !== MESSAGES)
        return readSome(
          sql(AFTER).iterate(topic.id, position, max),
          (row) => ({
            position: int(row.position),
            event: toEvent(row, topic.name),
            source: text(row.data),
          }),
          ({ source }) => source,
        )
      const { found, isCut } = journal.after(position, max)
      const placed = found.map(({ position, message }) => {
        return { position, event: parts.toEvent(message), source: message.text }
      })
      return { found: placed, isCut }
    },
    /** The positions after `from`, up to `to`, at which there are events. */
    positions: ({ id }: TopicRow, from: number, to: number): number[] =>
      sql(`SELECT position FROM ${tableOf(id)} WHERE topic = ? AND position > ? AND position <= ?`)
        .all(id, from, to)
        .map((row) => int(row.position)),
    /** The position of an id, if that very event is there. */
    positionOf: (topic: TopicRow, id: string): number | undefined => {
      const position = positionOf(id) ?? 0
      const row = sql(`SELECT id FROM ${tableOf(topic.id)} WHERE topic = ? AND position = ?`)
      return row.get(topic.id, position)?.id === id ? position : undefined
    },
    /** The position of the oldest event there; one past the end of an empty topic. */
    first: (topic: TopicRow): number => {
      const row = sql(`SELECT min(position) AS position FROM ${tableOf(topic.id)} WHERE topic = ?`)
      return maybeInt(row.get(topic.id)?.position) ?? topic.last + 1
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
