import type { Event, NewEvent } from '../../core/event.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import type { Page, PlacedEvent } from '../../core/store.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { readPage, type Sql } from './sql.ts'

/** The id of the topic that is a view of the journal. */
export const MESSAGES = 1

/** A topic with publishers or subscribers. `last`: position of the newest event ever published. */
export type TopicRow = { id: number; name: string; last: number }

export type TopicLog = ReturnType<typeof createTopicLog>

/** Maximum distance between two successive positions that one read covers. */
const NEAR = 64

type Place = { position: number }
/** The ids or positions of existing events, as JSON. */
type There = { there: string }
/** `source`: the text from which the event was made. */
export type LoggedEvent = PlacedEvent & { source: string }
type EventRow = Pick<Event, 'id' | 'type' | 'source' | 'timestamp'> & {
  position: number
  root: string | null
  data: string
}

/** The events of topics by position, in the journal or in their own table. Synchronous. */
export function createTopicLog(parts: Parts, journal: JournalTable) {
  const { sql, counters, keys, signals } = parts

  /** Adds the actual end of the topic that is a view of the journal. */
  const toTopic = (row: TopicRow): TopicRow =>
    row.id === MESSAGES ? { ...row, last: counters.get('journal') } : row
  const find = (name: string) => {
    const row = sql.get<TopicRow>`SELECT id, name, last FROM topic WHERE name = ${name}`
    return row && toTopic(row)
  }
  /** Like `find`, but creates a missing topic. Only inside a transaction. */
  const open = (name: string): TopicRow => {
    const known = find(name)
    if (known) return known
    const id = sql.insert`INSERT INTO topic (name, emptied) VALUES (${name}, ${parts.now()})`
    return { id, name, last: 0 }
  }

  /** Only inside a transaction. */
  function append(name: string, events: readonly NewEvent[]): string[] {
    const now = parts.now()
    const topic = open(name)
    let position = topic.last
    const ids = events.map((event) => {
      const hash = event.key === undefined ? undefined : keys.hash('event', name, event.key)
      const first = hash && keys.find(hash, now)
      if (first) return first
      position++
      const id = makeId(parts.idTime(now), position)
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
    /** Events after a position, oldest first. */
    after: (topic: TopicRow, position: number, max: number): Page<LoggedEvent> => {
      if (topic.id !== MESSAGES) {
        const rows = sql.iterate<EventRow>`SELECT position, id, type, source, timestamp, root, data FROM event
          WHERE topic = ${topic.id} AND position > ${position} ORDER BY position LIMIT ${max} + 1`
        const toPlaced = (row: EventRow) => {
          return { position: row.position, event: toEvent(row, topic.name), source: row.data }
        }
        return readPage(rows, max, toPlaced, ({ source }) => source)
      }
      const { items, more } = journal.after(position, max)
      const placed = items.map(({ position, message }) => {
        return { position, event: parts.toEvent(message), source: message.text }
      })
      return { items: placed, more }
    },
    ...createPlaces(sql),
  }
}

/** Which positions of a topic have events. */
function createPlaces(sql: Sql) {
  return {
    /** The number of existing events in (`from`, `to`]. */
    count: ({ id }: TopicRow, from: number, to: number) =>
      sql.get<{ there: number }>`SELECT count(*) AS there FROM place
        WHERE topic = ${id} AND position > ${from} AND position <= ${to}`?.there ?? 0,
    /** The number of erased events in (`from`, `to`]; see schema-8.sql. */
    erased: ({ id }: TopicRow, from: number, to: number) =>
      sql.get<{ erased: number }>`SELECT count(*) AS erased FROM erased
        WHERE topic = ${id} AND position > ${from} AND position <= ${to}`?.erased ?? 0,
    /** The positions of existing events in (`from`, `to`]. */
    positions: ({ id }: TopicRow, from: number, to: number) =>
      sql.all<Place>`SELECT position FROM place WHERE topic = ${id} AND position > ${from} AND position <= ${to}`,
    /** The positions of ids whose events exist. */
    positionsOf: ({ id }: TopicRow, ids: readonly string[]) => positionsOf(sql, id, new Set(ids)),
    /**
     * Like `positionsOf`, for ids that were read from this topic: compares only positions, which is
     * cheaper.
     */
    positionsOfRead: ({ id }: TopicRow, ids: readonly string[]) => positionsOfRead(sql, id, ids),
    /** The position of the oldest event; one past the end for an empty topic. */
    first: ({ id, last }: TopicRow): number =>
      sql.get<Place>`SELECT position FROM place WHERE topic = ${id} ORDER BY position LIMIT 1`?.position ??
      last + 1,
  }
}

/** Reads ranges, because the ids of a batch are close together. */
function positionsOf(sql: Sql, topic: number, ids: ReadonlySet<string>): number[] {
  const places = new Map([...ids].map((id) => [id, positionOf(id) ?? 0]))
  const found: number[] = []
  for (const { from, to } of rangesOf([...places.values()])) {
    // One row, because the cost is per row.
    const [{ there } = { there: '[]' }] = sql.all<There>`SELECT json_group_array(id) AS there FROM place
      WHERE topic = ${topic} AND position BETWEEN ${from} AND ${to}`
    for (const id of JSON.parse(there)) if (ids.has(id)) found.push(places.get(id) ?? 0)
  }
  return found
}

function positionsOfRead(sql: Sql, topic: number, ids: readonly string[]): number[] {
  const asked = new Set(ids.map((id) => positionOf(id) ?? 0))
  const found: number[] = []
  for (const { from, to } of rangesOf([...asked])) {
    const [{ there } = { there: '[]' }] = sql.all<There>`SELECT json_group_array(position) AS there FROM place
      WHERE topic = ${topic} AND position BETWEEN ${from} AND ${to}`
    for (const position of JSON.parse(there)) if (asked.has(position)) found.push(position)
  }
  return found
}

/** Ranges that contain all positions: those of a batch are close together. */
function rangesOf(positions: number[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = []
  for (const position of positions.sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && position < last.to + NEAR) last.to = position
    else ranges.push({ from: position, to: position })
  }
  return ranges
}

function toEvent({ id, type, source, data, timestamp, root: rootContextId }: EventRow, topic: string): Event {
  const event = { id, topic, type, source, data: JSON.parse(data), timestamp }
  return rootContextId === null ? event : { ...event, rootContextId }
}
