import type { PositionRange, ReadUpTo } from '../../core/store.ts'
import { createGroupRounds, type RoundsOfGroup } from './group-rounds.ts'
import type { Parts } from './parts.ts'
import type { TopicLog, TopicRow } from './topic-log.ts'

/**
 * Positions up to `consumed` are consumed, except those in `pending`. The column of `consumed` is
 * named `next`, although it has the last consumed position.
 */
type GroupRow = RoundsOfGroup & { missed: number; used: number; hasPending: 0 | 1 }
export type Group = GroupRow & { topic: TopicRow }
/** A topic and one of its groups. */
type InfoRow = TopicRow & { group: string; consumed: number; pending: number; again: number }

export type GroupRows = ReturnType<typeof createGroupRows>

/** The rows of consumer groups, and of their pending events. Synchronous. */
export function createGroupRows({ sql, now }: Pick<Parts, 'sql' | 'now'>, log: TopicLog) {
  const rounds = createGroupRounds({ sql })
  return {
    ...rounds,
    find(topic: TopicRow | undefined, name: string): Group | undefined {
      if (!topic) return undefined
      const row = sql.get<GroupRow>`SELECT id, next AS consumed, missed, used, round,
          EXISTS (SELECT 1 FROM pending WHERE consumer = consumer.id) AS hasPending,
          EXISTS (SELECT 1 FROM redelivered WHERE consumer = consumer.id) AS hasRounds
        FROM consumer WHERE topic = ${topic.id} AND name = ${name}`
      return row && { ...row, topic }
    },
    /** Creates the group if it is new, and updates the time of its last use. */
    open: (topic: TopicRow, name: string, consumed: number, now: number) =>
      sql.run`INSERT INTO consumer (topic, name, next, used, round)
        VALUES (${topic.id}, ${name}, ${consumed}, ${now}, ${now})
        ON CONFLICT (topic, name) DO UPDATE SET used = excluded.used`,
    save: ({ id, consumed, missed, used, round }: Group) =>
      sql.run`UPDATE consumer SET next = ${consumed}, missed = ${missed}, used = ${used}, round = ${round} WHERE id = ${id}`,
    remove(group: Group): void {
      rounds.forgetRounds(group)
      sql.run`DELETE FROM pending WHERE consumer = ${group.id}`
      sql.run`DELETE FROM consumer WHERE id = ${group.id}`
    },
    /** The groups of a topic, or of all topics. */
    list(topicName: string | null) {
      const rows = sql.all<InfoRow>`SELECT t.id, t.name, t.last, c.name AS "group", c.next AS consumed,
          (SELECT count(*) FROM pending p WHERE p.consumer = c.id) AS pending,
          (SELECT count(*) FROM pending p WHERE p.consumer = c.id AND p.hidden_until <= ${now()}) AS again
        FROM consumer c JOIN topic t ON t.id = c.topic WHERE ${topicName} IS NULL OR t.name = ${topicName}
        ORDER BY t.name, c.name`
      return rows.map(({ group, consumed, pending, again, ...row }) => {
        const topic = log.toTopic(row)
        const from = Math.max(consumed, log.first(topic) - 1)
        const unread = topic.last - from - log.erased(topic, from, topic.last)
        return { topic: topic.name, group, lag: Math.max(0, unread), pending, again }
      })
    },
    /** Each group of a topic, with the position up to which it has read. */
    consumed: ({ id }: TopicRow) =>
      sql.all<ReadUpTo>`SELECT name AS "group", next AS last FROM consumer WHERE topic = ${id}`,
    ...createPendingRows({ sql }, log),
  }
}

/**
 * The events that a group has read and not consumed: hidden under a lease, or returned and visible
 * again.
 */
function createPendingRows({ sql }: Pick<Parts, 'sql'>, log: TopicLog) {
  const isPending = ({ id }: Group, position: number) =>
    sql.get`SELECT 1 FROM pending WHERE consumer = ${id} AND position = ${position}` !== undefined
  return {
    isPending,
    /** Whether an event is not consumed. */
    isWaiting: (group: Group, position: number) => position > group.consumed || isPending(group, position),
    isHidden: ({ id }: Group, position: number, now: number) =>
      sql.get`SELECT 1 FROM pending
        WHERE consumer = ${id} AND position = ${position} AND hidden_until > ${now}` !== undefined,
    /** The number of positions in (`after`, `last`] that are neither consumed nor erased. */
    countUnread(group: Group | undefined, { after, last: to }: PositionRange): number | undefined {
      if (!group) return undefined
      const { id, consumed } = group
      const last = Math.min(to, group.topic.last)
      const row = sql.get<{ pending: number }>`SELECT count(*) AS pending FROM pending
        WHERE consumer = ${id} AND position > ${after} AND position <= ${last}`
      const from = Math.max(after, consumed)
      const unread = Math.max(0, last - from) - log.erased(group.topic, from, last)
      return unread + (row?.pending ?? 0)
    },
    /** The first `max` visible positions after `after`. For `+ 0` see `Sql`. */
    visible: ({ id }: Group, after: number, now: number, max: number) =>
      sql.all<{ position: number }>`SELECT position FROM pending INDEXED BY pending_hidden
        WHERE consumer = ${id} AND hidden_until <= ${now} AND position > ${after}
        ORDER BY position LIMIT ${max} + 0`,
    nextVisible: ({ id }: Group, now: number) =>
      sql.get<{ at: number | null }>`SELECT min(hidden_until) AS at FROM pending
        WHERE consumer = ${id} AND hidden_until > ${now}`?.at,
    /** Hides a position until a time; 0 makes it visible. */
    hide: ({ id }: Group, position: number, until: number) =>
      sql.run`INSERT INTO pending (consumer, position, hidden_until) VALUES (${id}, ${position}, ${until})
        ON CONFLICT (consumer, position) DO UPDATE SET hidden_until = excluded.hidden_until`,
    /** Makes a position visible, as if it was never delivered. */
    renew: ({ id }: Group, position: number) =>
      sql.run`INSERT OR REPLACE INTO pending (consumer, position, hidden_until) VALUES (${id}, ${position}, 0)`,
    /** Hides a position that is delivered under a lease. Returns the number of its deliveries. */
    lease({ id }: Group, position: number, until: number): number {
      const row = sql.get<{
        deliveries: number
      }>`INSERT INTO pending (consumer, position, hidden_until, deliveries)
        VALUES (${id}, ${position}, ${until}, 1) ON CONFLICT (consumer, position)
        DO UPDATE SET hidden_until = excluded.hidden_until, deliveries = deliveries + 1
        RETURNING deliveries`
      return row?.deliveries ?? 1
    },
    /** Extends a lease that has not expired. Returns the number of extended leases: 0 or 1. */
    extend: ({ id }: Group, position: number, now: number, until: number) =>
      sql.run`UPDATE pending SET hidden_until = ${until}
        WHERE consumer = ${id} AND position = ${position} AND hidden_until > ${now}`,
    /** Consumes a pending event. */
    consume: ({ id }: Group, position: number) =>
      sql.run`DELETE FROM pending WHERE consumer = ${id} AND position = ${position}`,
    /** Removes the pending events up to a position, and their rounds. */
    consumeUntil({ id }: Group, last: number): void {
      sql.run`DELETE FROM pending WHERE consumer = ${id} AND position <= ${last}`
      sql.run`DELETE FROM redelivered WHERE consumer = ${id} AND position <= ${last}`
    },
    /** Removes all pending events. Those up to `consumed` then count as consumed. */
    forgetPending: ({ id }: Group) => sql.run`DELETE FROM pending WHERE consumer = ${id}`,
  }
}
