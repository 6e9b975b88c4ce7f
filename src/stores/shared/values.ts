import type { AttemptError, Note, Retention } from '../../core/store.ts'
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

/** How long (ms) a consumer group may be unused before trimming removes it: seven days, and while its events are kept. */
export function groupAge({ journal, topics = {} }: Retention): number {
  const ages = Object.values(topics).map(({ maxAge = 0 }) => maxAge)
  return Math.max(WEEK, journal.maxAge, ...ages)
}

/** What is said of a gateway, a topic or a group, where anything is; names may be anything. */
export function ownOf<T>(values: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
