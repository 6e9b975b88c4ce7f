import { positionOf } from '../../core/message-id.ts'
import type { Group, GroupRows } from './group-rows.ts'
import type { TopicLog } from './topic-log.ts'

type Settling = {
  until?: number
  round?: number | undefined
  areRead?: boolean | undefined
  visibleAt?: number
}

const NONE: ReadonlySet<number> = new Set()

/** Consumes events of a group, or hides them from it. Inside a transaction only. */
export function createGroupSettle(log: TopicLog, rows: GroupRows) {
  const goneOf = createGoneOf(log)

  /**
   * Moves `consumed` to `last`. Existing events that are not `settled` stay visible. The next read
   * reports the missing events, except those in `gone`.
   */
  function advance(
    group: Group,
    last: number,
    settled: ReadonlySet<number>,
    gone: ReadonlySet<number>,
  ): void {
    if (last === group.consumed) return
    const isPassed = (at: number) => at > group.consumed && at <= last
    const existing = log.count(group.topic, group.consumed, last)
    // Usually all existing events are settled, so their positions need not be read.
    if (existing > countOf(settled, isPassed)) {
      for (const { position } of log.positions(group.topic, group.consumed, last))
        if (!settled.has(position)) rows.hide(group, position, 0)
    }
    group.missed += last - group.consumed - existing - countOf(gone, isPassed)
    group.consumed = last
    rows.save(group)
  }

  function isNewestThere({ topic }: Group, ids: readonly string[]): boolean {
    // Ids sort in the order of their positions.
    let newest = ''
    for (const id of ids) if (id > newest) newest = id
    return log.positionsOf(topic, [newest]).length === 1
  }

  return {
    /**
     * Consumes events, or hides them until a time (`until`), and returns their number. With
     * `round`, only events of that round. `areRead`: all ids were read from this topic, so only the
     * newest is compared. `visibleAt`: only events that are not hidden then. Unread events before an
     * unread one of them become pending.
     */
    settle(
      group: Group,
      ids: readonly string[],
      { until, round, areRead, visibleAt }: Settling = {},
    ): number {
      const { consumed } = group
      const isOfRound = (at: number) =>
        (round === undefined || rows.roundOf(group, at) === round) &&
        (visibleAt === undefined || !rows.isHidden(group, at, visibleAt))
      const positions = areRead && isNewestThere(group, ids) ? log.positionsOfRead : log.positionsOf
      const found = new Set(positions(group.topic, ids).filter(isOfRound))
      // Events that were read and have expired since do not count as missed.
      const gone = until === undefined ? goneOf(group, ids, found) : NONE
      const open = [...found, ...gone].filter((at) => at > consumed || rows.isPending(group, at))
      const last = open.reduce((most, at) => Math.max(most, at), consumed)
      advance(group, last, found, gone)
      for (const position of open) {
        if (until !== undefined) {
          rows.hide(group, position, until)
          continue
        }
        if (position <= consumed) rows.consume(group, position)
        rows.endRound(group, position)
      }
      return open.length
    },

    /** Acknowledges `count` missing events of a peek. Returns 1 if any were missing, else 0. */
    forgive(group: Group, count: number): number {
      const [first] = log.after(group.topic, group.consumed, 1).items
      advance(group, first ? first.position - 1 : group.topic.last, NONE, NONE)
      const missed = Math.max(0, group.missed - count)
      rows.save({ ...group, missed })
      return group.missed > missed ? 1 : 0
    },
  }
}

function countOf(positions: Iterable<number>, isCounted: (position: number) => boolean): number {
  let count = 0
  for (const position of positions) if (isCounted(position)) count++
  return count
}

/** The positions of ids whose events are gone; `found` are the existing ones. */
function createGoneOf(log: TopicLog) {
  return ({ topic }: Group, ids: readonly string[], found: ReadonlySet<number>) => {
    const gone = new Set<number>()
    if (found.size === ids.length) return gone
    for (const id of ids) {
      const at = positionOf(id) ?? 0
      if (at <= 0 || at > topic.last || found.has(at)) continue
      if (log.after(topic, at - 1, 1).items[0]?.position !== at) gone.add(at)
    }
    return gone
  }
}
