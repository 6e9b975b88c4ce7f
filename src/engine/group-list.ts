import { timeOf } from '../core/message-id.ts'
import type { GroupInfo } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { GroupActivity } from './group-activity.ts'
import type { GroupHistory, GroupPoint } from './group-history.ts'
import type { GroupLastReads, LastRead } from './group-last-reads.ts'
import { type GroupTopics, oldestOf } from './group-oldest.ts'
import type { GroupSettings } from './group-settings.ts'
import type { GroupSkip, GroupSkips } from './group-skips.ts'

/** A group whose reader looked for events within this time (ms) is being read. */
const RECENT = 60_000
/** Maximum number of groups whose oldest unread event and last reader are looked up. */
const MOST_LOOKS = 100

export type GroupState =
  /** Nothing is unread. */
  | 'current'
  /** Events were read in the last minutes, or a reader looked for some in the last one. */
  | 'reading'
  /** Events are unread, and nobody reads them. */
  | 'stalled'

/** A consumer group, its lag in events and in time, and its readers. Times in Unix ms. */
type ListedGroup = GroupInfo &
  ReturnType<GroupActivity['info']> & {
    state: GroupState
    /** Number of events that the group has to read: unread, or to be delivered again. */
    behind: number
    /** When the event that is read next was published. */
    oldestAt?: number
    /** Since when the event waits that has waited longest, since its publication or replay. */
    waitingSince?: number
    /** The id of the event that is read next. */
    oldestId?: string
    skill?: { name: string; since?: number }
    /** Who read last, if nobody has read on this daemon. */
    lastRead?: LastRead
    /** Set if events wait and the group has no reader: since when, and the last reader if it is known. */
    noReader?: { since?: number; by?: string }
    /** The last skip; only with `queue`. */
    lastSkip?: GroupSkip
    history?: GroupPoint[]
  } & GroupSettings & { retention?: Limits }

/** How long (ms) events of a topic are kept, and how many. */
type Limits = { maxAge: number; maxCount: number }

/** `since`, `until` (Unix ms): of the history. */
type GroupFilter = {
  topic?: string
  queue?: string
  history: boolean
  since?: number | undefined
  until?: number | undefined
}

/**
 * `event-groups`, furthest behind first; only those named `queue` if it is given, with the limits
 * of their topic. `history`: with the points of the last day.
 */
export async function listGroups(
  deps: {
    topics: GroupTopics
    activity: GroupActivity
    past: Pick<GroupHistory, 'of'>
    lastReads: Pick<GroupLastReads, 'of'>
    skips: Pick<GroupSkips, 'of'>
    /** The groups whose events run a skill. */
    skills(): Promise<readonly { topic: string; group: string; ref: string; since?: number | undefined }[]>
    /** Filter and limit of deliveries of a group. */
    settings: { of(topic: string, group: string): Promise<GroupSettings> }
    retentionOf(topic: string): Limits
    isLasting(group: string): boolean
    now(): number
  },
  { topic, queue, history, since = 0, until = Number.POSITIVE_INFINITY }: GroupFilter,
): Promise<ListedGroup[]> {
  const { topics, activity, past, lastReads } = deps
  const isInTime = ({ at }: GroupPoint) => at >= since && at < until
  const [all, skills] = await Promise.all([topics.groups(topic), deps.skills()])
  const groups = all
    .filter(({ group }) => deps.isLasting(group) && (queue === undefined || group === queue))
    .sort((a, b) => b.lag + b.again - a.lag - a.again)
  return Promise.all(
    groups.map(async (info, at) => {
      const oldest = at < MOST_LOOKS ? await oldestOf(topics, info) : undefined
      const oldestId = oldest?.id
      const oldestAt = oldestId === undefined ? undefined : timeOf(oldestId)
      const served = skills.find((one) => one.topic === info.topic && one.group === info.group)
      const skill = served && { name: served.ref, ...defined({ since: served.since }) }
      const points = history ? past.of(info.topic, info.group).filter(isInTime) : undefined
      const reads = activity.info(info.topic, info.group)
      const state = stateOf(info, reads, skill !== undefined, deps.now())
      const hasNoReader = reads.readers.length === 0 && at < MOST_LOOKS
      const lastRead = hasNoReader ? await lastReads.of(info.topic, info.group) : undefined
      const lastSkip = queue === undefined ? undefined : await deps.skips.of(info.topic, info.group)
      const retention = queue === undefined ? undefined : deps.retentionOf(info.topic)
      return {
        ...info,
        ...(await deps.settings.of(info.topic, info.group)),
        state,
        behind: info.lag + info.again,
        ...reads,
        ...defined({
          oldestAt,
          waitingSince: oldest?.since,
          oldestId,
          skill,
          lastRead,
          noReader: state === 'stalled' ? lastOf(reads.readers, lastRead) : undefined,
          lastSkip,
          history: points,
          retention,
        }),
      }
    }),
  )
}

type ListDeps = Parameters<typeof listGroups>[0]

/** Makes the function that says who read a group last if nothing reads it now; undefined if something does. */
export function createNoReader(deps: Pick<ListDeps, 'activity' | 'lastReads' | 'skills' | 'now'>) {
  const { activity, lastReads, skills, now } = deps
  return async (topic: string, group: string) => {
    const reads = activity.info(topic, group)
    const hasSkill = (await skills()).some((one) => one.topic === topic && one.group === group)
    const isStalled = stateOf({ lag: 1, pending: 0 }, reads, hasSkill, now()) === 'stalled'
    return isStalled ? lastOf(reads.readers, await lastReads.of(topic, group)) : undefined
  }
}

/** Who read last, and when (Unix ms), here or on another daemon. */
function lastOf(readers: ReturnType<GroupActivity['info']>['readers'], lastRead: LastRead | undefined) {
  const newest = readers.toSorted((a, b) => b.lastAt - a.lastAt)[0]
  return defined({ since: newest?.lastAt ?? lastRead?.at, by: newest?.name ?? lastRead?.by })
}

function stateOf(
  { lag, pending }: Pick<GroupInfo, 'lag' | 'pending'>,
  { perMinute, waiting, readers }: ReturnType<GroupActivity['info']>,
  hasSkill: boolean,
  now: number,
): GroupState {
  if (lag === 0 && pending === 0) return 'current'
  const hasReader = readers.some(({ lastAt }) => now - lastAt < RECENT)
  return perMinute > 0 || waiting > 0 || hasReader || hasSkill ? 'reading' : 'stalled'
}
