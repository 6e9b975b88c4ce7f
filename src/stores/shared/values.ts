import { timeIn } from '../../core/message-id.ts'
import type { AttemptError, Note, Retention, Waiting } from '../../core/store.ts'
import { TEN_YEARS } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'

/** The error that a job died of. */
export function lastOf(errors: readonly AttemptError[]): AttemptError {
  return errors.at(-1) ?? { at: 0, code: 'internal', message: 'unknown' }
}

/** What the history of a message says when it is taken. */
export function takenNote(lease: number | undefined, by: string | undefined): Pick<Note, 'what' | 'detail'> {
  const what = lease === undefined ? 'taken' : 'leased'
  return lease === undefined && by === undefined ? { what } : { what, detail: defined({ by, lease }) }
}

/** How often (ms) it is noted again that a gateway or a group is read from; how long keys and results are remembered. */
export const HOUR = 60 * 60 * 1_000
export const WEEK = 7 * 24 * HOUR

/** Ms to add to a time that is stored: bounded, so that the sum is a time that JavaScript and SQLite can represent. */
export function storable(ms: number): number {
  return Math.min(ms, TEN_YEARS)
}

/** How long (ms) a consumer group may be unused before trimming removes it: seven days, and while its events are kept. */
export function groupAge({ journal, topics = {} }: Retention): number {
  const ages = Object.values(topics).map(({ maxAge = 0 }) => maxAge)
  return Math.max(WEEK, journal.maxAge, ...ages)
}

/** What is said of a gateway, a topic or a group, where anything is; names may be anything. */
export function ownOf<T>(values: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/** How many of the oldest jobs of a queue, and of the messages behind the dispatch cursor, `oldestWaiting` looks at. */
export const WAITING = { jobs: 1_000, messages: 100 }

/** Of each road and gateway the oldest; what no message names has no time, and tells nothing. */
export function oldestOf(
  waiting: readonly (Omit<Waiting, 'oldestAt'> & { oldestAt?: number | undefined })[],
) {
  const found = new Map<string, Waiting>()
  for (const { road, gateway, oldestAt } of waiting) {
    const key = `${road} ${gateway}`
    const known = found.get(key)?.oldestAt ?? Number.POSITIVE_INFINITY
    if (oldestAt !== undefined && oldestAt < known) found.set(key, { road, gateway, oldestAt })
  }
  return [...found.values()]
}

/** Who waits where a job does: the lanes of dispatch and of the outbox begin with it. */
export function waitingJob(road: string, id: string, lane: string) {
  const [first = ''] = lane.split('/', 1)
  return { road, gateway: road === 'dispatch' || road === 'outbox' ? first : '', oldestAt: timeIn(id) }
}
