import type { SubscriptionInfo } from '../core/subscription-info.ts'
import { MINUTE } from '../core/units.ts'
import type { GroupLastReads } from '../engine/group-last-reads.ts'
import { type GroupTopics, oldestOf } from '../engine/group-oldest.ts'
import { pushOf } from '../features/push/group-states.ts'
import type { StoredReadings } from '../features/troubles/readings.ts'
import { FAR_BEHIND } from '../features/troubles/road-troubles.ts'
import { MAX_QUIET } from '../features/troubles/stalled-groups.ts'
import { defined } from '../lib/defined.ts'

type Group = StoredReadings['groups'][number]

/** Maximum number of groups, furthest behind first, whose last reader is looked up. */
const MOST_LOOKS = 100
/** How long (ms) a group without a known reader is not looked up again. */
const NO_READER = MINUTE

/**
 * Returns a function that finds groups that are far behind or have lost their reader, and adds how
 * long their oldest event has waited and who read last. The status calls it each second, so it looks
 * up only groups that may have changed.
 */
export function createGroupTimes(deps: {
  topics: GroupTopics
  lastReads: Pick<GroupLastReads, 'of'>
  now(): number
}) {
  const { topics, lastReads, now } = deps
  /** When groups may be looked up again (Unix ms). */
  const quietUntil = new Map<string, number>()

  const timesOf = async (group: Group): Promise<Group> => {
    const [oldest, lastRead] = await Promise.all([
      oldestOf(topics, group),
      lastReads.of(group.topic, group.group),
    ])
    return { ...group, ...defined({ oldestAt: oldest?.since, lastRead }) }
  }

  const timesIfQuiet = async (group: Group): Promise<Group> => {
    const key = `${group.topic}\n${group.group}`
    if (now() < (quietUntil.get(key) ?? 0)) return group
    const lastRead = await lastReads.of(group.topic, group.group)
    const until = lastRead ? lastRead.at + MAX_QUIET : now() + NO_READER
    if (now() >= until) return timesOf(group)
    if (quietUntil.size >= MOST_LOOKS * 10) quietUntil.clear()
    quietUntil.set(key, until)
    return group
  }

  return (groups: readonly Group[], pushes: readonly SubscriptionInfo[]): Promise<Group[]> => {
    const read = groups.filter((group) => group.behind > 0 && !pushOf(group, pushes))
    const looked = new Set(read.toSorted((a, b) => b.behind - a.behind).slice(0, MOST_LOOKS))
    return Promise.all(
      groups.map((group) => {
        if (!looked.has(group)) return group
        return group.behind >= FAR_BEHIND ? timesOf(group) : timesIfQuiet(group)
      }),
    )
  }
}
