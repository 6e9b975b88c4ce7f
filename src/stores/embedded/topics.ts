import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { GroupBatch, GroupInfo, GroupRead, Topics } from '../../core/store.ts'
import { createGroupReader, type Group, type ReadPlan } from './group-read.ts'
import type { Parts } from './parts.ts'
import { int, prepareAll, type Row, text } from './sql.ts'
import type { TopicLog, TopicRow } from './topic-log.ts'

/** Topics and their consumer groups. */
export function createTopics(parts: Parts, log: TopicLog): Topics {
  const { db, writer, signals, read } = parts
  const sql = prepareAll(db, 'topics.sql')
  const reader = createGroupReader(parts, log)

  function subscribe(name: string, group: string, from: 'now' | 'start' | number): { created: boolean } {
    const topic = log.open(name)
    if (reader.find(topic, group)) return { created: false }
    const next = from === 'now' ? topic.last : from === 'start' ? log.first(topic) - 1 : from
    sql('addConsumer').run(topic.id, group, next)
    return { created: true }
  }

  /**
   * Reads for all groups. Without `apply`, which writes what a read changes, the answer is undefined where one changes
   * something: so idle readers cost no transaction.
   */
  function readAll(name: string, requests: readonly GroupRead[], apply?: (plan: ReadPlan) => void) {
    const topic = log.find(name)
    const after = sharedAfter(log)
    const batches: (GroupBatch | undefined)[] = []
    for (const request of requests) {
      const group = topic && reader.find(topic, request.group)
      // There is something to consume: no need to look at what before it is read for good.
      if (group && !apply && request.mode !== 'peek' && group.next < topic.last) return undefined
      const plan = group && reader.plan(topic, group, request, after)
      if (plan && reader.changes(plan)) {
        if (!apply) return undefined
        apply(plan)
      }
      batches.push(plan && reader.batch(plan))
    }
    return batches
  }

  /**
   * Finds the events of a group that are not consumed and calls `each` with their positions. Unread ones
   * are drawn into `pending` first, with all before them. Returns how many there were.
   */
  function settle(
    name: string,
    groupName: string,
    ids: readonly string[],
    each: (group: number, at: number) => void,
  ): number {
    const topic = log.find(name)
    const group = topic && reader.find(topic, groupName)
    if (!group) return 0
    const found = new Set(ids.flatMap((id) => log.positionOf(topic, id) ?? []))
    const open = [...found].filter((at) => at > group.next || sql('isPending').get(group.id, at))
    const last = Math.max(...open, group.next)
    if (last > group.next) drawUpTo(topic, group, last, found)
    for (const position of open) each(group.id, position)
    return open.length
  }

  /** Moves `next` to `last`; what lies between and is not among `settled` stays open, and visible. */
  function drawUpTo(topic: TopicRow, group: Group, last: number, settled: Set<number>): void {
    const there = log.between(topic, group.next, last + 1)
    for (const position of there) if (!settled.has(position)) sql('hide').run(group.id, position, 0)
    sql('moveSilently').run(last, last - group.next - there.length, group.id)
  }

  function info(row: Row): GroupInfo {
    const topic = log.toTopic(row, text(row.topic))
    const unread = topic.last - Math.max(int(row.next), log.first(topic) - 1)
    return { topic: topic.name, group: text(row.name), lag: Math.max(0, unread), pending: int(row.pending) }
  }

  return {
    publish: (topic, events) => {
      if (topic === MESSAGE_TOPIC) return Promise.reject(new TriviumError('topic_reserved', { topic }))
      return events.length === 0 ? Promise.resolve([]) : writer.write(() => log.append(topic, events))
    },
    subscribe: (topic, group, from) => writer.write(() => subscribe(topic, group, from)),
    unsubscribe: (name, groupName) =>
      writer.write(() => {
        const topic = log.find(name)
        const group = topic && reader.find(topic, groupName)
        if (!group) return false
        sql('removePendingOf').run(group.id)
        sql('removeConsumer').run(group.id)
        return true
      }),
    groups: (name) =>
      read(() => {
        const topic = name === undefined ? undefined : log.find(name)
        if (name !== undefined && !topic) return []
        return sql('consumers')
          .all(topic?.id ?? 0)
          .map(info)
      }),
    // A power failure that undoes a read repeats it: delivery to a group is at least once.
    read: async (topic, requests) =>
      (await read(() => readAll(topic, requests))) ??
      writer.writeRepeatable(() => readAll(topic, requests, reader.apply) ?? []),
    ack: (topic, group, ids) =>
      writer.write(() =>
        settle(topic, group, ids, (id, position) => {
          sql('consume').run(id, position)
        }),
      ),
    nack: (topic, group, ids, delay) =>
      writer.write(() => {
        const until = delay > 0 ? parts.now() + delay : 0
        const count = settle(topic, group, ids, (id, position) => {
          sql('hide').run(id, position, until)
        })
        if (count > 0) signals.raise(`topic:${topic}`)
        return count
      }),
    tail: (name, after, max) =>
      read(() => {
        const topic = log.find(name)
        return topic ? log.after(topic, after, max) : []
      }),
    end: (name) => read(() => log.find(name)?.last ?? 0),
  }
}

/** For one call: groups that stand at the same place get the same events, fetched and parsed once. */
function sharedAfter(log: TopicLog): TopicLog['after'] {
  const known = new Map<string, ReturnType<TopicLog['after']>>()
  return (topic, position, max) => {
    const place = `${position} ${max}`
    const found = known.get(place) ?? log.after(topic, position, max)
    known.set(place, found)
    return found
  }
}
