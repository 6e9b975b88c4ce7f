import type { Event } from '../../core/event.ts'
import type { GroupBatch, GroupRead } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, prepareAll } from './sql.ts'
import type { TopicLog, TopicRow } from './topic-log.ts'

/** `due`: when the first of what is pending comes back, in ms; undefined where nothing is. */
export type Group = { id: number; next: number; missed: number; due: number | undefined }

/** What a read would return and how far it would move the group, computed without changing anything. */
export type ReadPlan = {
  group: Group
  request: GroupRead
  events: Event[]
  /** Given back before, visible again, and in this batch. */
  back: number[]
  /** Read for the first time. */
  fresh: number[]
  /** Given back before, but removed by retention since. */
  gone: number[]
  next: number
  missed: number
}

export type GroupReader = {
  find(topic: TopicRow, name: string): Group | undefined
  /** `after` is that of the log, or one that shares what it reads between groups. */
  plan(topic: TopicRow, group: Group, request: GroupRead, after: TopicLog['after']): ReadPlan
  /** True where applying the plan writes: everything but a peek that found no gap. */
  changes(plan: ReadPlan): boolean
  /** Inside a transaction only. */
  apply(plan: ReadPlan): void
  batch(plan: ReadPlan): GroupBatch
}

/**
 * How a group reads. Positions up to `next` are consumed unless they are in `pending`; a missing
 * position past `next` was removed by retention, because positions have no gaps of their own.
 */
export function createGroupReader(parts: Parts, log: TopicLog): GroupReader {
  const sql = prepareAll(parts.db, 'topics.sql')
  const [consumer, visible, expired] = [sql('consumer'), sql('visible'), sql('expired')]
  const [hide, consume, move, nextVisible] = [sql('hide'), sql('consume'), sql('move'), sql('nextVisible')]

  function plan(topic: TopicRow, group: Group, request: GroupRead, after: TopicLog['after']): ReadPlan {
    const { max, mode } = request
    const back: number[] = []
    const gone: number[] = []
    const events: Event[] = []
    for (const position of comeBack(group, max)) {
      const event = log.at(topic, position)
      if (event) events.push(event)
      if (event) back.push(position)
      else gone.push(position)
    }
    const room = max - back.length
    const read = room > 0 ? after(topic, group.next, room) : []
    events.push(...read.map(({ event }) => event))
    const fresh = read.map(({ position }) => position)
    // Fewer than asked for: nothing is left up to the end of the topic.
    const end = read.length < room ? topic.last : (fresh.at(-1) ?? group.next)
    const leadingGap = (fresh[0] ?? end + 1) - group.next - 1
    const passed = mode === 'peek' ? Math.max(0, leadingGap) : end - group.next
    const holes = mode === 'peek' ? passed : passed - fresh.length
    const next = group.next + passed
    return { group, request, events, back, fresh, gone, next, missed: group.missed + gone.length + holes }
  }

  /** The first positions that were given back or whose lease ran out, in order. */
  function comeBack({ id, due }: Group, max: number): number[] {
    const now = parts.now()
    if (due === undefined || due > now) return []
    const given = visible.all(id, max).map((row) => int(row.position))
    const ended = expired.all(id, now, max).map((row) => int(row.position))
    if (ended.length === 0) return given
    return [...given, ...ended].sort((a, b) => a - b).slice(0, max)
  }

  function apply({ group, request, back, fresh, gone, next, missed }: ReadPlan): void {
    for (const position of gone) consume.run(group.id, position)
    if (request.mode === 'consume') for (const position of back) consume.run(group.id, position)
    if (request.mode === 'lease') {
      const until = parts.now() + (request.lease ?? 0)
      for (const position of [...back, ...fresh]) hide.run(group.id, position, until)
    }
    if (next !== group.next || missed > 0) move.run(next, group.id)
  }

  return {
    plan,
    apply,
    find: (topic, name) => {
      const row = consumer.get(topic.id, name)
      return row && { id: int(row.id), next: int(row.next), missed: int(row.missed), due: maybeInt(row.due) }
    },
    changes: ({ group, request, events, gone, next, missed }) =>
      next !== group.next || missed > 0 || gone.length > 0 || (request.mode !== 'peek' && events.length > 0),
    batch: ({ group, request, events, missed }) => {
      if (group.due === undefined && request.mode !== 'lease') return { events, missed }
      const at = maybeInt(nextVisible.get(group.id, parts.now())?.at)
      return at === undefined ? { events, missed } : { events, missed, nextVisible: at }
    },
  }
}
