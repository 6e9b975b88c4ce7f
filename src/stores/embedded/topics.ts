import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { positionOf } from '../../core/message-id.ts'
import type { Topics } from '../../core/store.ts'
import { missedIn } from '../../lib/gap-text.ts'
import { storable } from '../shared/values.ts'
import { createGroupRead } from './group-read.ts'
import { createGroupRows, type Group } from './group-rows.ts'
import { createGroupSettle } from './group-settle.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { createTopicLog, type TopicLog, type TopicRow } from './topic-log.ts'

/** Topics and their consumer groups. */
export function createTopics(parts: Parts, journal: JournalTable): Topics {
  const log = createTopicLog(parts, journal)
  return { ...createTopicAccess(parts, log), ...createGroups(parts, log) }
}

type GroupMethod =
  | 'subscribe'
  | 'unsubscribe'
  | 'seek'
  | 'skip'
  | 'groups'
  | 'read'
  | 'ack'
  | 'nack'
  | 'extend'
  | 'restore'
  | 'withdraw'
  | 'unread'
  | 'consumed'
  | 'redelivered'
  | 'roundOf'

/** The methods without a consumer group. */
function createTopicAccess({ writer, read }: Parts, log: TopicLog): Omit<Topics, GroupMethod> {
  return {
    publish: (topic, events) => {
      if (topic === MESSAGE_TOPIC) return Promise.reject(new TriviumError('topic_reserved', { topic }))
      return events.length === 0 ? Promise.resolve([]) : writer.write(() => log.append(topic, events))
    },
    partitions: () => 1,
    placeOf: (_, id) => {
      const position = positionOf(id)
      return position === undefined ? undefined : { partition: 0, position }
    },
    tail: (name, after, max) =>
      read(() => {
        const topic = log.find(name)
        return topic ? log.after(topic, after, max) : { items: [], more: false }
      }),
    end: (name) => read(() => log.find(name)?.last ?? 0),
    erased: (name, { after, last }) =>
      read(() => {
        const topic = log.find(name)
        return topic ? log.erased(topic, after, last) : 0
      }),
  }
}

function createGroups(parts: Parts, log: TopicLog): Pick<Topics, GroupMethod> {
  const { writer, signals, read, now } = parts
  const rows = createGroupRows(parts, log)
  const readOne = createGroupRead(parts, log, rows)
  const { settle, forgive } = createGroupSettle(log, rows)

  /** Works on a group inside a transaction; returns `none` if there is no such group. */
  const within: Within = (topic, name, none, work) =>
    writer.write(() => {
      const group = rows.find(log.find(topic), name)
      return group ? work(group) : none
    })

  return {
    subscribe: (name, group, from) =>
      writer.write(() => {
        const topic = log.open(name)
        const created = !rows.find(topic, group)
        rows.open(topic, group, positionBefore(log, topic, from), now())
        return { created }
      }),
    unsubscribe: (topic, name) =>
      within(topic, name, false, (group) => {
        rows.remove(group)
        return true
      }),
    seek: (topic, name, to) =>
      within(topic, name, false, (group) => {
        rows.forgetPending(group)
        rows.forgetRounds(group)
        const used = now()
        const round = Math.max(used, group.round + 1)
        rows.save({ ...group, consumed: positionBefore(log, group.topic, to), missed: 0, used, round })
        signals.raise(`topic:${topic}`)
        return true
      }),
    skip: (topic, name, { last }) =>
      within(topic, name, false, (group) => skipTo(rows, group, Math.min(last, group.topic.last), now())),
    groups: (topic) => read(() => rows.list(topic ?? null)),
    // A read lost in a power failure is repeated: delivery to groups is at least once.
    read: (name, requests) =>
      writer.writeRepeatable(() => {
        const topic = log.find(name)
        const after = sharedAfter(log)
        return requests.map((request) => {
          const group = rows.find(topic, request.group)
          return group && readOne(group, request, after)
        })
      }),
    ack: (topic, name, ids, { round, areRead } = {}) =>
      within(topic, name, 0, (group) => {
        const missed = [...new Set(ids)].reduce((sum, id) => sum + missedIn(id), 0)
        return settle(group, ids, { round, areRead }) + (missed > 0 ? forgive(group, missed) : 0)
      }),
    nack: (topic, name, ids, delay) =>
      within(topic, name, 0, (group) => {
        const count = settle(group, ids, { until: delay > 0 ? now() + storable(delay) : 0 })
        if (count > 0) signals.raise(`topic:${topic}`)
        return count
      }),
    extend: (topic, name, ids, lease) =>
      within(topic, name, 0, (group) => {
        const at = now()
        const until = now() + storable(lease)
        const positions = log.positionsOf(group.topic, ids)
        return positions.reduce((count, position) => count + rows.extend(group, position, at, until), 0)
      }),
    consumed: (name) =>
      read(() => {
        const topic = log.find(name)
        return topic ? rows.consumed(topic) : []
      }),
    unread: (topic, name, range) => read(() => rows.countUnread(rows.find(log.find(topic), name), range)),
    roundOf: (topic, name) => read(() => rows.find(log.find(topic), name)?.round),
    redelivered: (topic, name) => read(() => rows.countRounds(rows.find(log.find(topic), name))),
    ...createRedelivery({ within, rows, log, settle, parts }),
  }
}

type Within = <T>(topic: string, name: string, none: T, work: (group: Group) => T) => Promise<T>

/** Redelivers events that a group has read, and undoes that. */
function createRedelivery(of: {
  within: Within
  rows: ReturnType<typeof createGroupRows>
  log: TopicLog
  settle: ReturnType<typeof createGroupSettle>['settle']
  parts: Pick<Parts, 'signals' | 'now'>
}): Pick<Topics, 'restore' | 'withdraw'> {
  const { within, rows, log, settle } = of
  const { signals, now } = of.parts
  return {
    restore: (topic, name, id, round) =>
      within(topic, name, false, (group) => {
        const [position] = log.positionsOf(group.topic, [id])
        if (position === undefined) return false
        const isOwn = rows.ownRoundOf(group, position) <= 0 && rows.isWaiting(group, position)
        rows.redeliver(group, position, isOwn ? -round : round)
        // Unread events are delivered anyway.
        if (position <= group.consumed) rows.renew(group, position)
        signals.raise(`topic:${topic}`)
        return true
      }),
    withdraw: (topic, name, ids, round) =>
      within(topic, name, 0, (group) => {
        for (const position of log.positionsOf(group.topic, ids))
          if (rows.ownRoundOf(group, position) === -round) rows.endRound(group, position)
        return settle(group, ids, { round, visibleAt: now() })
      }),
  }
}

/** Consumes all events up to the position `to`. Inside a transaction. */
function skipTo(rows: ReturnType<typeof createGroupRows>, group: Group, to: number, used: number): true {
  rows.consumeUntil(group, to)
  rows.save({ ...group, consumed: Math.max(group.consumed, to), missed: 0, used })
  return true
}

/**
 * A cache for one call: groups at the same position share events, which are read and parsed once.
 */
function sharedAfter(log: TopicLog): TopicLog['after'] {
  const known = new Map<string, ReturnType<TopicLog['after']>>()
  return (topic, position, max) => {
    const place = `${position} ${max}`
    const found = known.get(place) ?? log.after(topic, position, max)
    known.set(place, found)
    return found
  }
}

/** The position directly before the first event to read. */
function positionBefore(log: TopicLog, topic: TopicRow, from: 'now' | 'start'): number {
  return from === 'now' ? topic.last : log.first(topic) - 1
}
