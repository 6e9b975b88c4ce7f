import { positionOf } from '../../core/message-id.ts'
import type { Group, GroupRows } from './group-rows.ts'
import type { TopicLog } from './topic-log.ts'

/** Takes events off a group, or hides them from it. Inside a transaction only. */
export function createGroupSettle(log: TopicLog, rows: GroupRows) {
  /** The positions of ids whose events are gone; `found` are the existing ones. */
  function goneOf({ topic }: Group, ids: readonly string[], found: ReadonlySet<number>): number[] {
    if (found.size === ids.length) return []
    const others = ids.map((id) => positionOf(id) ?? 0)
    return others.filter((at) => {
      if (at <= 0 || at > topic.last || found.has(at)) return false
      return log.after(topic, at - 1, 1).items[0]?.position !== at
    })
  }

  /** Moves `next` to `last`; existing events that are not `settled` stay visible. The next read reports missing ones. */
  function drawUpTo(group: Group, last: number, settled: ReadonlySet<number>): void {
    if (last === group.next) return
    const there = log.positions(group.topic, group.next, last)
    for (const { position } of there) if (!settled.has(position)) rows.hide(group, position, 0)
    const present = new Set(there.map(({ position }) => position))
    const known = [...settled].filter((at) => at > group.next && at <= last && !present.has(at))
    group.missed += last - group.next - there.length - known.length
    group.next = last
    rows.save(group)
  }

  return {
    /** Consumes events, or hides them until a time. Moves unread ones, and all before them, into `pending`. Returns their number. */
    settle(group: Group, ids: readonly string[], until?: number): number {
      const { next } = group
      const found = new Set(log.positionsOf(group.topic, new Set(ids)))
      // Events that were read and have expired since do not count as missed.
      if (until === undefined) for (const position of goneOf(group, ids, found)) found.add(position)
      const open = [...found].filter((at) => at > next || rows.isPending(group, at))
      drawUpTo(group, Math.max(...open, next), found)
      for (const position of open) {
        if (until !== undefined) rows.hide(group, position, until)
        else if (position <= next) rows.consume(group, position)
      }
      return open.length
    },

    /** Takes off what a peek told of missing events; more may be missing since. Returns 1 where any were. */
    forgive(group: Group, told: number): number {
      const [first] = log.after(group.topic, group.next, 1).items
      drawUpTo(group, first ? first.position - 1 : group.topic.last, new Set())
      const missed = Math.max(0, group.missed - told)
      rows.save({ ...group, missed })
      return group.missed > missed ? 1 : 0
    },
  }
}
