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

/** One message or job that waits; `dueAt` (Unix ms) where an attempt failed or a set time is waited for. */
export type WaitingOne = { road: string; gateway: string; oldestAt?: number | undefined; dueAt?: number }

/** Groups what waits by road, gateway and state. What no message names has no time, and is left out. */
export function oldestOf(ones: readonly WaitingOne[]): Waiting[] {
  return mergeWaiting(
    ones.flatMap(({ road, gateway, oldestAt, dueAt }): Waiting[] => {
      if (oldestAt === undefined) return []
      const one = { road, gateway, oldestAt }
      return [dueAt === undefined ? { ...one, state: 'waiting' } : { ...one, ...retrying(1, dueAt) }]
    }),
  )
}

/** Joins entries of the same road, gateway and state, such as those of several shards. */
export function mergeWaiting(all: readonly Waiting[]): Waiting[] {
  const found = new Map<string, Waiting>()
  for (const each of all) {
    const key = JSON.stringify([each.road, each.gateway, each.state])
    const known = found.get(key)
    found.set(key, known ? joined(known, each) : each)
  }
  return [...found.values()]
}

function joined(one: Waiting, other: Waiting): Waiting {
  const oldestAt = Math.min(one.oldestAt, other.oldestAt)
  if (one.state === 'waiting' || other.state === 'waiting') return { ...one, oldestAt }
  return {
    ...one,
    oldestAt,
    ...retrying(one.count + other.count, Math.min(one.nextAt, other.nextAt)),
  }
}

function retrying(count: number, nextAt: number) {
  return { state: 'retrying', count, nextAt } as const
}

/** The lanes of dispatch and of the outbox begin with the name of the gateway. `requeuedAt`: when it left the dead letters. */
export function waitingJob(job: {
  road: string
  id: string
  lane: string
  requeuedAt?: number | undefined
  dueAt?: number | undefined
}): WaitingOne {
  const { road, id, lane, requeuedAt, dueAt } = job
  const [first = ''] = lane.split('/', 1)
  const gateway = road === 'dispatch' || road === 'outbox' ? first : ''
  const cameAt = timeIn(id)
  const oldestAt = cameAt === undefined ? undefined : (requeuedAt ?? cameAt)
  return { road, gateway, oldestAt, ...defined({ dueAt }) }
}
