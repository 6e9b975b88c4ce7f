import type { Event, NewEvent } from '../../core/event.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { readSome } from './sql.ts'

/** The number of the topic that is a view of the journal. */
export const MESSAGES = 1

/** A topic that was published on or subscribed to. `last`: the position of its newest event ever. */
export type TopicRow = { id: number; name: string; last: number }

export type TopicLog = ReturnType<typeof createTopicLog>

/** How far the positions of ids that one read looks for are apart at most. */
const NEAR = 64

type Place = { position: number }
type EventRow = Pick<Event, 'id' | 'type' | 'source' | 'timestamp'> & {
  position: number
  root: string | null
  data: string
}

/** The events of topics by position, wherever they are. All synchronous. */
export function createTopicLog(parts: Parts, journal: JournalTable) {
  const { sql, counters, keys, signals } = parts

  /** With the true end of the topic that is a view of the journal. */
  const toTopic = (row: TopicRow): TopicRow =>
    row.id === MESSAGES ? { ...row, last: counters.get('journal') } : row
  const find = (name: string) => {
    const row = sql.get<TopicRow>`SELECT id, name, last FROM topic WHERE name = ${name}`
    return row && toTopic(row)
  }
  /** As `find`, made where it is new. Inside a transaction only. */
  const open = (name: string): TopicRow => {
    const known = find(name)
    if (known) return known
    const id = sql.insert`INSERT INTO topic (name, emptied) VALUES (${name}, ${parts.now()})`
    return { id, name, last: 0 }
  }

  /** Inside a transaction only. */
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
      sql.run`INSERT INTO event (topic, position, id, type, source, timestamp, root, data) VALUES (${topic.id},
        ${position}, ${id}, ${type}, ${source}, ${timestamp}, ${rootContextId}, ${JSON.stringify(data)})`
      if (hash) keys.remember(hash, id)
      return id
    })
    if (position > topic.last) {
      sql.run`UPDATE topic SET last = ${position}, oldest = coalesce(oldest, ${parts.idTime()}), emptied = NULL
        WHERE id = ${topic.id}`
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
      if (topic.id !== MESSAGES) {
        const rows = sql.iterate<EventRow>`SELECT position, id, type, source, timestamp, root, data FROM event
          WHERE topic = ${topic.id} AND position > ${position} ORDER BY position LIMIT ${max} + 0`
        const toPlaced = (row: EventRow) => {
          return { position: row.position, event: toEvent(row, topic.name), source: row.data }
        }
        return readSome(rows, toPlaced, ({ source }) => source)
      }
      const { found, isCut } = journal.after(position, max)
      const placed = found.map(({ position, message }) => {
        return { position, event: parts.toEvent(message), source: message.text }
      })
      return { found: placed, isCut }
    },
    /** The positions after `from`, up to `to`, at which there are events. */
    positions: ({ id }: TopicRow, from: number, to: number) =>
      sql.all<Place>`SELECT position FROM place WHERE topic = ${id} AND position > ${from} AND position <= ${to}`,
    /** The positions of ids whose very events are there. Those of a batch lie close together. */
    positionsOf: ({ id: topic }: TopicRow, ids: ReadonlySet<string>): number[] => {
      const places = new Map([...ids].map((id) => [id, positionOf(id) ?? 0]))
      const asked = [...places.values()].sort((a, b) => a - b)
      const found: number[] = []
      for (let at = 0; at < asked.length; ) {
        const from = asked[at] ?? 0
        let to = from
        for (; at < asked.length && (asked[at] ?? 0) < to + NEAR; at++) to = asked[at] ?? to
        // One row, as a row costs ten times what it says.
        const [{ there } = { there: '[]' }] = sql.all<{
          there: string
        }>`SELECT json_group_array(id) AS there FROM place
          WHERE topic = ${topic} AND position BETWEEN ${from} AND ${to}`
        for (const id of JSON.parse(there)) if (ids.has(id)) found.push(places.get(id) ?? 0)
      }
      return found
    },
    /** The position of the oldest event there; one past the end of an empty topic. */
    first: ({ id, last }: TopicRow): number =>
      sql.get<Place>`SELECT position FROM place WHERE topic = ${id} ORDER BY position LIMIT 1`?.position ??
      last + 1,
  }
}

function toEvent({ id, type, source, data, timestamp, root: rootContextId }: EventRow, topic: string): Event {
  const event = { id, topic, type, source, data: JSON.parse(data), timestamp }
  return rootContextId === null ? event : { ...event, rootContextId }
}
