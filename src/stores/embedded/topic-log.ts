import type { Event, NewEvent } from '../../core/event.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, maybeText, prepareAll, type Row, text } from './sql.ts'

/** The number of the topic that is a view of the journal. */
export const MESSAGES = 1

export type Positioned = { position: number; event: Event }

export type TopicRow = { id: number; name: string; last: number }

/**
 * The events of topics by position, wherever they are: in the table `event`, or for `gateway-message` in
 * the journal. All synchronous.
 */
export type TopicLog = {
  /** A row with the columns `id` and `last` of a topic. */
  toTopic(row: Row, name: string): TopicRow
  /** A topic that was published on or subscribed to. `last`: the position of its newest event ever. */
  find(name: string): TopicRow | undefined
  /** The same, made where it is new. Inside a transaction only. */
  open(name: string): TopicRow
  after(topic: TopicRow, position: number, max: number): Positioned[]
  at(topic: TopicRow, position: number): Event | undefined
  /** The position of an id, if that very event is there. */
  positionOf(topic: TopicRow, id: string): number | undefined
  /** The position of the oldest event there; one past the end of an empty topic. */
  first(topic: TopicRow): number
  /** The positions between two others that are there. */
  between(topic: TopicRow, after: number, before: number): number[]
  /** Inside a transaction only. */
  append(topic: string, events: readonly NewEvent[]): string[]
}

export function createTopicLog(parts: Parts, journal: JournalTable): TopicLog {
  const { db, counters, keys, signals } = parts
  const sql = prepareAll(db, 'topics.sql')
  const [insert, selectTopic] = [sql('insert'), sql('topic')]

  const toTopic = (row: Row, name: string): TopicRow => {
    const id = int(row.id)
    return { id, name, last: id === MESSAGES ? counters.get('journal') : int(row.last) }
  }
  const find = (name: string) => {
    const row = selectTopic.get(name)
    return row && toTopic(row, name)
  }
  const open = (name: string) => find(name) ?? toTopic(sql('addTopic').get(name) ?? {}, name)

  function append(name: string, events: readonly NewEvent[]): string[] {
    const now = parts.now()
    const topic = open(name)
    let position = topic.last
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
      sql('advance').run(position - topic.last, topic.id)
      signals.raise(`topic:${name}`)
    }
    return ids
  }

  return {
    toTopic,
    find,
    open,
    append,
    after: (topic, position, max) =>
      topic.id === MESSAGES
        ? journal
            .after(position, max)
            .map(({ position, message }) => ({ position, event: parts.toEvent(message) }))
        : sql('after')
            .all(topic.id, position, max)
            .map((row) => ({ position: int(row.position), event: toEvent(row, topic.name) })),
    at: (topic, position) => {
      if (topic.id === MESSAGES) {
        const message = journal.at(position)
        return message && parts.toEvent(message)
      }
      const row = sql('at').get(topic.id, position)
      return row && toEvent(row, topic.name)
    },
    positionOf: (topic, id) => {
      if (topic.id === MESSAGES) return journal.find(id)
      const position = positionOf(id)
      return position !== undefined && sql('idAt').get(topic.id, position)?.id === id ? position : undefined
    },
    first: (topic) => {
      const first = topic.id === MESSAGES ? journal.first() : maybeInt(sql('first').get(topic.id)?.position)
      return first ?? topic.last + 1
    },
    between: (topic, after, before) => {
      const rows =
        topic.id === MESSAGES
          ? sql('journalPositions').all(after, before)
          : sql('positions').all(topic.id, after, before)
      return rows.map((row) => int(row.position))
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
