import { USE_INTERVAL } from '../../core/lifetimes.ts'
import type { GroupBatch, GroupRead, Page } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import type { Group, GroupRows } from './group-rows.ts'
import type { Parts } from './parts.ts'
import { readPage } from './sql.ts'
import type { LoggedEvent, TopicLog } from './topic-log.ts'

/** The result if no event was returned to the group. */
const NOTHING_BACK = { items: [], more: false, gone: 0 }

/**
 * Reads for one group. Positions have no gaps, so a missing one after `consumed` was removed by
 * retention.
 */
export function createGroupRead(parts: Parts, log: TopicLog, rows: GroupRows) {
  return (group: Group, request: GroupRead, after: TopicLog['after']): GroupBatch => {
    const { max, mode, lease = 0 } = request
    const now = parts.now()
    const isPeek = mode === 'peek'
    const before = (isPeek && request.after) || 0
    const start = Math.max(group.consumed, before)
    // Most groups have no pending events: they need two statements instead of four.
    const back = group.hasPending ? readBack(group, request, before, now) : NOTHING_BACK
    const room = max - back.items.length
    const fresh: Page<LoggedEvent> =
      back.more || room === 0
        ? { items: [], more: back.more || start < group.topic.last }
        : after(group.topic, start, room)
    const shown = [...back.items, ...fresh.items]
    const end = fresh.more ? (fresh.items.at(-1)?.position ?? start) : group.topic.last
    // A peek changes nothing, and reports only the events that are missing before its first one.
    const passed = isPeek ? Math.max(start, (fresh.items[0]?.position ?? end + 1) - 1) : end
    const gone = passed - start - (isPeek ? 0 : fresh.items.length)
    const missed = group.missed + back.gone
    const left = isPeek ? { consumed: group.consumed, missed } : { consumed: end, missed: 0 }
    const until = now + storable(lease)
    const rounds = request.withRounds && shown.map(({ position }) => rows.roundOf(group, position))
    if (mode === 'consume') {
      for (const { position } of back.items) rows.endRound(group, position)
      rows.endRounds(group, end)
    }
    const deliveries = mode === 'lease' ? shown.map(({ position }) => rows.lease(group, position, until)) : []
    if (left.consumed !== group.consumed || left.missed !== group.missed || now - group.used > USE_INTERVAL)
      rows.save({ ...group, ...left, used: now })
    const mayBePending = group.hasPending || deliveries.length > 0
    const nextVisible = (mayBePending && rows.nextVisible(group, now)) || undefined
    return {
      items: shown.map(({ event }) => event),
      more: fresh.more,
      missed: missed + gone,
      ...(nextVisible !== undefined && { nextVisible }),
      ...(request.isCounted && { deliveries }),
      ...(rounds && { rounds }),
    }
  }

  /**
   * Events that were returned or whose lease expired, and the number of those that retention has
   * removed.
   */
  function readBack(group: Group, { max, mode }: GroupRead, before: number, now: number) {
    const visible = rows.visible(group, before, now, max + 1)
    const lookAt = ({ position }: { position: number }) => ({
      position,
      next: log.after(group.topic, position - 1, 1).items[0],
    })
    const { items, more } = readPage(visible, max, lookAt, ({ next }) => next?.source)
    const existing: LoggedEvent[] = []
    for (const { position, next } of items) {
      const exists = next?.position === position
      if (exists) existing.push(next)
      if (!exists || mode === 'consume') rows.consume(group, position)
      if (!exists) rows.endRound(group, position)
    }
    return { items: existing, more, gone: items.length - existing.length }
  }
}
