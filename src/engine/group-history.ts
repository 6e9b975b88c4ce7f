import type { GroupInfo } from '../core/store.ts'
import { MINUTE } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { type GroupTopics, oldestOf } from './group-oldest.ts'

/**
 * The backlog of a group at a time (Unix ms). `behind`: how long (ms) its oldest unread or unsent
 * event had waited then, since its publication or replay. `perMinute`: events read from this daemon
 * in the five minutes before, a minute.
 */
export type GroupPoint = { at: number; lag: number; behind?: number; perMinute?: number }

/** The points of the last four hours: their interval (ms), and their number. */
const FINE = { every: 30_000, most: 480 }
/** The points of the last day. */
const COARSE = { every: 10 * MINUTE, most: 144 }
/** Groups with a history. Each has up to 624 points. */
const MOST_GROUPS = 200

/** A push subscription. */
type Push = {
  topic: string
  name: string
  /** Its unsent events. */
  waiting: number
  /** Since when (Unix ms) the oldest of them waits. */
  oldestAt?: number
}

type Series = { fine: GroupPoint[]; coarse: GroupPoint[]; seenAt: number }

export type GroupHistory = ReturnType<typeof createGroupHistory>

/**
 * The backlog of consumer groups over the last day, in memory, as this daemon saw it. Call `sample`
 * every `every` ms. With too many groups, those with the largest backlog are kept.
 */
export function createGroupHistory(deps: {
  topics: GroupTopics
  isLasting(group: string): boolean
  /** How many events a minute a group reads. */
  rateOf?(topic: string, group: string): number
  now(): number
}) {
  const { topics, rateOf, now } = deps
  const all = new Map<string, Series>()

  return {
    every: FINE.every,
    /**
     * Adds a point for each group. `pushes`: push subscriptions, which know best what waits for them.
     */
    async sample(pushes: readonly Push[] = []): Promise<void> {
      const at = now()
      const groups = (await topics.groups()).filter(({ group }) => deps.isLasting(group))
      const kept = withBacklogs(groups, pushes).slice(0, MOST_GROUPS)
      const oldests = await Promise.all(
        kept.map(async ({ group, push }) => (push ? push.oldestAt : (await oldestOf(topics, group))?.since)),
      )
      for (const [index, { group, push, backlog }] of kept.entries()) {
        const oldest = oldests[index]
        const behind = oldest === undefined ? undefined : Math.max(0, at - oldest)
        const key = keyOf(group.topic, group.group)
        const series = all.get(key) ?? { fine: [], coarse: [], seenAt: at }
        all.set(key, series)
        series.seenAt = at
        // The attempts of a push have a history of their own.
        const perMinute = push ? undefined : rateOf?.(group.topic, group.group)
        addTo(series, { at, lag: backlog, ...defined({ behind, perMinute }) })
      }
      for (const [key, { seenAt }] of all) if (seenAt < at) all.delete(key)
    },
    /** The points of a group over the last day, oldest first; the last four hours have more. */
    of(topic: string, group: string): GroupPoint[] {
      const { fine, coarse } = all.get(keyOf(topic, group)) ?? { fine: [], coarse: [] }
      const first = fine[0]?.at ?? 0
      return [...coarse.filter(({ at }) => at < first), ...fine]
    },
  }
}

/** The groups with their pushes, largest backlog first. */
function withBacklogs(groups: readonly GroupInfo[], pushes: readonly Push[]) {
  const byKey = new Map(pushes.map((push) => [keyOf(push.topic, push.name), push]))
  return groups
    .map((group) => {
      const push = byKey.get(keyOf(group.topic, group.group))
      return { group, push, backlog: push ? push.waiting : group.lag + group.pending }
    })
    .toSorted((a, b) => b.backlog - a.backlog)
}

function keyOf(topic: string, group: string): string {
  return `${topic}\n${group}`
}

/** A coarse point has the highest backlog and rate of its ten minutes. */
function addTo({ fine, coarse }: Series, point: GroupPoint): void {
  // The clock was set back.
  while ((fine.at(-1)?.at ?? 0) > point.at) fine.pop()
  while ((coarse.at(-1)?.at ?? 0) > point.at) coarse.pop()
  fine.push(point)
  if (fine.length > FINE.most) fine.shift()
  const last = coarse.at(-1)
  if (last && point.at - last.at < COARSE.every) {
    last.lag = Math.max(last.lag, point.lag)
    if (point.behind !== undefined) last.behind = Math.max(last.behind ?? 0, point.behind)
    if (point.perMinute !== undefined) last.perMinute = Math.max(last.perMinute ?? 0, point.perMinute)
    return
  }
  coarse.push({ ...point })
  if (coarse.length > COARSE.most) coarse.shift()
}
