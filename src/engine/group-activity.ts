import { timeIn } from '../core/message-id.ts'

const MINUTE = 60_000
/** Minutes over which the rate of a group is computed. */
const RATE_MINUTES = 5
/** Maximum number of groups in memory. */
const MOST_GROUPS = 1_000
/** Maximum number of readers per group. */
const MOST_READERS = 20

/** A reader of a group on this daemon. Times in Unix ms. */
type GroupReaderInfo = { name: string; since: number; lastAt: number; events: number }

type Activity = {
  readers: Map<string, GroupReaderInfo & { leases?: boolean }>
  /** Number of events taken, by minute (Unix minutes). */
  taken: Map<number, number>
  /** Number of reads that wait for events. */
  waiting: number
  lastAt: number
}

type GroupWait = { topic: string; group: string; by: string; ack: boolean; lease?: number | undefined }

/** Ids that were acknowledged, and how many of them the group had. */
type Acked = { count: number; ids: readonly string[] }

export type GroupActivity = ReturnType<typeof createGroupActivity>

/**
 * Readers of consumer groups on this daemon, with start and number of events, in memory. `onTaken`
 * is called for each read that took events, with the publication of the first (Unix ms).
 */
export function createGroupActivity(
  now: () => number,
  onTaken: (topic: string, group: string, by: string, publishedAt?: number) => void = () => {},
) {
  const groups = new Map<string, Activity>()
  const keyOf = (topic: string, group: string) => `${topic}\n${group}`
  const of = (topic: string, group: string): Activity => {
    const key = keyOf(topic, group)
    const known = groups.get(key)
    if (known) return known
    if (groups.size >= MOST_GROUPS) groups.delete(oldestOf(groups))
    const made: Activity = { readers: new Map(), taken: new Map(), waiting: 0, lastAt: now() }
    groups.set(key, made)
    return made
  }
  const readerOf = ({ readers }: Activity, name: string, at: number) => {
    const known = readers.get(name)
    if (known) return known
    if (readers.size >= MOST_READERS) readers.delete(oldestOf(readers))
    const made: GroupReaderInfo & { leases?: boolean } = { name, since: at, lastAt: at, events: 0 }
    readers.set(name, made)
    return made
  }

  const took = (activity: Activity, name: string, taken: number) => {
    const at = now()
    const reader = readerOf(activity, name, at)
    reader.lastAt = at
    reader.events += taken
    activity.lastAt = at
    const minute = Math.floor(at / MINUTE)
    const before = activity.taken.get(minute)
    activity.taken.set(minute, (before ?? 0) + taken)
    if (before !== undefined) return
    for (const each of activity.taken.keys()) if (each <= minute - RATE_MINUTES) activity.taken.delete(each)
  }

  return {
    /**
     * Records a waiting reader and the number of its events. A peek (neither `ack` nor `lease`)
     * makes nobody a reader; `acked` does. Settles like `waited`.
     */
    async note<Events extends readonly { id: string }[] | undefined>(
      waited: Promise<Events>,
      { topic, group, by, ack, lease }: GroupWait,
    ): Promise<Events> {
      const activity = of(topic, group)
      activity.waiting++
      const isPeek = !ack && lease === undefined
      let taken: readonly { id: string }[] = []
      try {
        const events = await waited
        if (!isPeek) taken = events ?? []
        return events
      } finally {
        activity.waiting--
        if (!isPeek) took(activity, by, taken.length)
        const [first] = taken
        if (first) onTaken(topic, group, by, timeIn(first.id))
        if (lease !== undefined) readerOf(activity, by, now()).leases = true
      }
    },
    /** Records acknowledged events. Those of a reader with leases were counted when it got them. */
    acked(topic: string, group: string, by: string, { count, ids }: Acked): void {
      const activity = of(topic, group)
      took(activity, by, activity.readers.get(by)?.leases ? 0 : count)
      onTaken(topic, group, by, timeIn(ids[0] ?? ''))
    },
    /**
     * Data about a group: events per minute over the last minutes, and its readers, latest first.
     */
    info(topic: string, group: string) {
      return infoOf(groups.get(keyOf(topic, group)), Math.floor(now() / MINUTE))
    },
  }
}

/** The rate until `minute` (Unix minutes), and the readers. */
function infoOf(activity: Activity | undefined, minute: number) {
  let taken = 0
  for (const [at, count] of activity?.taken ?? []) if (at > minute - RATE_MINUTES) taken += count
  return {
    perMinute: Number((taken / RATE_MINUTES).toFixed(2)),
    waiting: activity?.waiting ?? 0,
    readers: [...(activity?.readers.values() ?? [])]
      .map(({ name, since, lastAt, events }): GroupReaderInfo => ({ name, since, lastAt, events }))
      .sort((a, b) => b.lastAt - a.lastAt),
  }
}

/**
 * The key of the least recently used entry. Keeping the map in this order would create garbage at
 * every use.
 */
function oldestOf(entries: ReadonlyMap<string, { lastAt: number }>): string {
  let oldest = ''
  let since = Number.POSITIVE_INFINITY
  for (const [key, { lastAt }] of entries) if (lastAt < since) [oldest, since] = [key, lastAt]
  return oldest
}
