import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { missedIn, positionOf } from '../../core/message-id.ts'
import type { GroupBatch, GroupRead, Topics } from '../../core/store.ts'
import { HOUR, storable } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { readSome, type Sql } from './sql.ts'
import { createTopicLog, type TopicLog, type TopicRow } from './topic-log.ts'

/** Positions up to `next` are consumed, except those in `pending`. */
type GroupRow = { id: number; next: number; missed: number; used: number }
type Group = GroupRow & { topic: TopicRow }
/** A topic and one of its groups. */
type InfoRow = TopicRow & { group: string; next: number; pending: number }
type Place = { position: number }

/** Topics and their consumer groups. */
export function createTopics(parts: Parts, journal: JournalTable): Topics {
  const { sql, writer, signals, read } = parts
  const log = createTopicLog(parts, journal)

  function find(topic: TopicRow | undefined, name: string): Group | undefined {
    if (!topic) return undefined
    const row = sql.get<GroupRow>`SELECT id, next, missed, used FROM consumer
      WHERE topic = ${topic.id} AND name = ${name}`
    return row && { ...row, topic }
  }
  const save = ({ id, next, missed, used }: Group) =>
    sql.run`UPDATE consumer SET next = ${next}, missed = ${missed}, used = ${used} WHERE id = ${id}`

  /** Hides a position until a time; 0 makes it visible. */
  const hide = (group: Group, position: number, until: number) =>
    sql.run`INSERT INTO pending (consumer, position, hidden_until) VALUES (${group.id}, ${position}, ${until})
      ON CONFLICT (consumer, position) DO UPDATE SET hidden_until = excluded.hidden_until`
  const consume = (group: Group, position: number) =>
    sql.run`DELETE FROM pending WHERE consumer = ${group.id} AND position = ${position}`

  /** Reads for one group. Positions have no gaps, so a missing one after `next` was removed by retention. */
  function readOne(group: Group, request: GroupRead, after: TopicLog['after']): GroupBatch {
    const { max, mode, lease = 0 } = request
    const { topic } = group
    const now = parts.now()
    const isPeek = mode === 'peek'
    const before = (isPeek && request.after) || 0
    const start = Math.max(group.next, before)
    let { missed } = group
    const shown: ReturnType<typeof after>['found'] = []
    // Released events, and events with an expired lease.
    const visible = sql.all<Place>`SELECT position FROM pending INDEXED BY pending_hidden
      WHERE consumer = ${group.id} AND hidden_until <= ${now} AND position > ${before}
      ORDER BY position LIMIT ${max} + 0`
    const lookAt = ({ position }: Place) => ({ position, next: log.after(topic, position - 1, 1).found[0] })
    const back = readSome(visible, lookAt, ({ next }) => next?.source)
    for (const { position, next } of back.found) {
      const isThere = next?.position === position
      if (isThere) shown.push(next)
      else missed++
      if (!isThere || mode === 'consume') consume(group, position)
    }
    const room = max - shown.length
    const isFull = back.isCut || room === 0
    const { found: fresh, isCut } = isFull ? { found: [], isCut: true } : after(topic, start, room)
    shown.push(...fresh)
    // Fewer than requested: the end of the topic was reached.
    const isAll = fresh.length < room && !isCut
    const end = isAll ? topic.last : (fresh.at(-1)?.position ?? start)
    // A peek reports events missing before the first one, and changes nothing.
    const passed = isPeek ? Math.max(start, (fresh[0]?.position ?? end + 1) - 1) : end
    const gone = passed - start - (isPeek ? 0 : fresh.length)
    const left = isPeek ? { next: group.next, missed } : { next: end, missed: 0 }
    const deliveries = mode === 'lease' ? leaseRows(sql, group, shown, now + storable(lease)) : []
    if (left.next !== group.next || left.missed !== group.missed || now - group.used > HOUR)
      save({ ...group, ...left, used: now })
    const { at } = sql.get<{ at: number | null }>`SELECT min(hidden_until) AS at FROM pending
      WHERE consumer = ${group.id} AND hidden_until > ${now}` ?? { at: null }
    const batch = { events: shown.map(({ event }) => event), missed: missed + gone }
    return { ...batch, ...(at !== null && { nextVisible: at }), ...(request.isCounted && { deliveries }) }
  }

  /** Consumes events, or hides them until a time. Moves unread ones, and all before them, into `pending`. Returns their number. */
  function settle(group: Group, ids: readonly string[], until?: number): number {
    const { next } = group
    const isPending = (position: number) =>
      sql.get`SELECT 1 FROM pending WHERE consumer = ${group.id} AND position = ${position}`
    const found = new Set(log.positionsOf(group.topic, new Set(ids)))
    // Events that were read and have expired since do not count as missed.
    if (until === undefined) for (const position of goneOf(group, ids, found)) found.add(position)
    const open = [...found].filter((at) => at > next || isPending(at))
    drawUpTo(group, Math.max(...open, next), found)
    for (const position of open) {
      if (until !== undefined) hide(group, position, until)
      else if (position <= next) consume(group, position)
    }
    return open.length
  }

  /** The positions of ids whose events are gone; `found` are the existing ones. */
  function goneOf({ topic }: Group, ids: readonly string[], found: ReadonlySet<number>): number[] {
    if (found.size === ids.length) return []
    const others = ids.map((id) => positionOf(id) ?? 0)
    return others.filter((at) => {
      if (at <= 0 || at > topic.last || found.has(at)) return false
      return log.after(topic, at - 1, 1).found[0]?.position !== at
    })
  }

  /** Moves `next` to `last`; existing events that are not `settled` stay visible. The next read reports missing ones. */
  function drawUpTo(group: Group, last: number, settled: Set<number>): void {
    if (last === group.next) return
    const there = log.positions(group.topic, group.next, last)
    for (const { position } of there) if (!settled.has(position)) hide(group, position, 0)
    const present = new Set(there.map(({ position }) => position))
    const known = [...settled].filter((at) => at > group.next && at <= last && !present.has(at))
    group.missed += last - group.next - there.length - known.length
    group.next = last
    save(group)
  }

  /** Subtracts reported events from the missed count; more may be missing since. */
  function forgive(group: Group, told: number): number {
    const [first] = log.after(group.topic, group.next, 1).found
    drawUpTo(group, first ? first.position - 1 : group.topic.last, new Set())
    const missed = Math.max(0, group.missed - told)
    save({ ...group, missed })
    return group.missed > missed ? 1 : 0
  }

  return {
    publish: (topic, events) => {
      if (topic === MESSAGE_TOPIC) return Promise.reject(new TriviumError('topic_reserved', { topic }))
      return events.length === 0 ? Promise.resolve([]) : writer.write(() => log.append(topic, events))
    },
    subscribe: (name, group, from) =>
      writer.write(() => {
        const topic = log.open(name)
        const created = !find(topic, group)
        sql.run`INSERT INTO consumer (topic, name, next, used) VALUES (${topic.id}, ${group}, ${place(log, topic, from)}, ${parts.now()})
          ON CONFLICT (topic, name) DO UPDATE SET used = excluded.used`
        return { created }
      }),
    unsubscribe: (topic, name) =>
      writer.write(() => {
        const group = find(log.find(topic), name)
        if (!group) return false
        sql.run`DELETE FROM pending WHERE consumer = ${group.id}`
        sql.run`DELETE FROM consumer WHERE id = ${group.id}`
        return true
      }),
    seek: (name, group, to) =>
      writer.write(() => {
        const found = find(log.find(name), group)
        if (!found) return false
        sql.run`DELETE FROM pending WHERE consumer = ${found.id}`
        save({ ...found, next: place(log, found.topic, to), missed: 0, used: parts.now() })
        signals.raise(`topic:${name}`)
        return true
      }),
    partitions: () => 1,
    placeOf: (_, id) => {
      const position = positionOf(id)
      return position === undefined ? undefined : { partition: 0, position }
    },
    groups: (name) =>
      read(() => {
        const only = name ?? null
        const rows = sql.all<InfoRow>`SELECT t.id, t.name, t.last, c.name AS "group", c.next,
            (SELECT count(*) FROM pending p WHERE p.consumer = c.id) AS pending
          FROM consumer c JOIN topic t ON t.id = c.topic WHERE ${only} IS NULL OR t.name = ${only}
          ORDER BY t.name, c.name`
        return rows.map(({ group, next, pending, ...row }) => {
          const topic = log.toTopic(row)
          const unread = topic.last - Math.max(next, log.first(topic) - 1)
          return { topic: topic.name, group, lag: Math.max(0, unread), pending }
        })
      }),
    // A read lost in a power failure is repeated: delivery to groups is at least once.
    read: (name, requests) =>
      writer.writeRepeatable(() => {
        const topic = log.find(name)
        const after = sharedAfter(log)
        return requests.map((request) => {
          const group = find(topic, request.group)
          return group && readOne(group, request, after)
        })
      }),
    ack: (topic, name, ids) =>
      writer.write(() => {
        const group = find(log.find(topic), name)
        if (!group) return 0
        const told = [...new Set(ids)].reduce((sum, id) => sum + missedIn(id), 0)
        return settle(group, ids) + (told > 0 ? forgive(group, told) : 0)
      }),
    nack: (topic, name, ids, delay) =>
      writer.write(() => {
        const until = delay > 0 ? parts.now() + storable(delay) : 0
        const group = find(log.find(topic), name)
        const count = group ? settle(group, ids, until) : 0
        if (count > 0) signals.raise(`topic:${topic}`)
        return count
      }),
    extend: (topic, name, ids, lease) =>
      writer.write(() => {
        const group = find(log.find(topic), name)
        if (!group) return 0
        const [now, until] = [parts.now(), parts.now() + storable(lease)]
        return log.positionsOf(group.topic, new Set(ids)).reduce(
          (count, position) =>
            count +
            sql.run`UPDATE pending SET hidden_until = ${until}
              WHERE consumer = ${group.id} AND position = ${position} AND hidden_until > ${now}`,
          0,
        )
      }),
    restore: (name, group, id) => writer.write(() => restoreRow(parts, log, find(log.find(name), group), id)),
    tail: (name, after, max) =>
      read(() => {
        const topic = log.find(name)
        return topic ? log.after(topic, after, max).found : []
      }),
    end: (name) => read(() => log.find(name)?.last ?? 0),
  }
}

/** Per call: groups at the same position share events, which are read and parsed once. */
function sharedAfter(log: TopicLog): TopicLog['after'] {
  const known = new Map<string, ReturnType<TopicLog['after']>>()
  return (topic, position, max) => {
    const place = `${position} ${max}`
    const found = known.get(place) ?? log.after(topic, position, max)
    known.set(place, found)
    return found
  }
}

function place(log: TopicLog, topic: TopicRow, from: 'now' | 'start'): number {
  return from === 'now' ? topic.last : log.first(topic) - 1
}

/** Hides leased events, and returns the delivery number of each. */
function leaseRows(sql: Sql, group: Group, shown: readonly Place[], until: number): number[] {
  return shown.map(({ position }) => leaseRow(sql, group, position, until))
}

function leaseRow(sql: Sql, { id }: Group, position: number, until: number): number {
  const row = sql.get<{
    deliveries: number
  }>`INSERT INTO pending (consumer, position, hidden_until, deliveries)
    VALUES (${id}, ${position}, ${until}, 1) ON CONFLICT (consumer, position)
    DO UPDATE SET hidden_until = excluded.hidden_until, deliveries = deliveries + 1
    RETURNING deliveries`
  return row?.deliveries ?? 1
}

function restoreRow({ sql, signals }: Parts, log: TopicLog, group: Group | undefined, id: string): boolean {
  const [position] = group ? log.positionsOf(group.topic, new Set([id])) : []
  if (!group || position === undefined) return false
  // Unread events are delivered anyway.
  if (position <= group.next)
    sql.run`INSERT OR REPLACE INTO pending (consumer, position, hidden_until) VALUES (${group.id}, ${position}, 0)`
  signals.raise(`topic:${group.topic.name}`)
  return true
}
