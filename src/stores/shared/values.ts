import { UNUSED_TTL } from '../../core/lifetimes.ts'
import { timeIn } from '../../core/message-id.ts'
import type { Retention } from '../../core/retention.ts'
import type { AttemptError, Note, Waiting } from '../../core/store.ts'
import { TEN_YEARS } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'

/** The last error of a dead job. */
export function lastOf(errors: readonly AttemptError[]): AttemptError {
  return errors.at(-1) ?? { at: 0, code: 'internal', message: 'unknown' }
}

/** The history entry of a taken message. */
export function takenNote(lease: number | undefined, by: string | undefined): Pick<Note, 'what' | 'detail'> {
  const what = lease === undefined ? 'taken' : 'leased'
  return lease === undefined && by === undefined ? { what } : { what, detail: defined({ by, lease }) }
}

/** Limits a duration so that the stored time can be represented in JavaScript and SQLite. */
export function storable(ms: number): number {
  return Math.min(ms, TEN_YEARS)
}

/** How long (ms) an unused consumer group is kept: at least as long as its events. */
export function groupAge({ journal, topics = {} }: Retention): number {
  const ages = Object.values(topics).map(({ maxAge = 0 }) => maxAge)
  return Math.max(UNUSED_TTL, journal.maxAge, ...ages)
}

/**
 * The setting of a gateway, topic or group, if any. Own properties only, as names may be arbitrary.
 */
export function ownOf<T>(values: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/**
 * Number of oldest jobs per queue, and of messages after the dispatch cursor, that `oldestWaiting`
 * examines.
 */
export const WAITING = { jobs: 1_000, messages: 100 }

/** A waiting message or job. `dueAt` (Unix ms): set in back-off or for a scheduled time. */
export type WaitingOne = {
  road: string
  gateway: string
  oldestAt?: number | undefined
  dueAt?: number
  isHeld?: boolean
}

/**
 * The lanes with held jobs among the examined jobs of a queue. Empty if many jobs were examined and
 * all are in such lanes: later jobs were not examined, and may be free.
 */
export function heldLanes(examined: readonly { lane: string; isHeld: boolean }[]): ReadonlySet<string> {
  const lanes = new Set(examined.filter(({ isHeld }) => isHeld).map(({ lane }) => lane))
  const isUnclear = examined.length >= WAITING.jobs / 2 && examined.every(({ lane }) => lanes.has(lane))
  return isUnclear ? new Set() : lanes
}

/**
 * Groups waiting entries by road, gateway and state. Jobs without a message have no time and are
 * omitted.
 */
export function oldestOf(ones: readonly WaitingOne[]): Waiting[] {
  return mergeWaiting(
    ones.flatMap(({ road, gateway, oldestAt, dueAt, isHeld }): Waiting[] => {
      if (oldestAt === undefined) return []
      const one = { road, gateway, oldestAt }
      if (isHeld) return [{ ...one, state: 'held' }]
      return [dueAt === undefined ? { ...one, state: 'waiting' } : { ...one, ...retrying(1, dueAt) }]
    }),
  )
}

/** Merges entries of the same road, gateway and state, such as those of several shards. */
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
  if (one.state !== 'retrying' || other.state !== 'retrying') return { ...one, oldestAt }
  return {
    ...one,
    oldestAt,
    ...retrying(one.count + other.count, Math.min(one.nextAt, other.nextAt)),
  }
}

function retrying(count: number, nextAt: number) {
  return { state: 'retrying', count, nextAt } as const
}

/**
 * A job as a waiting entry. Lanes of dispatch and outbox start with the gateway's name.
 * `requeuedAt`: when a dead letter was retried.
 */
export function waitingJob(job: {
  road: string
  id: string
  lane: string
  requeuedAt?: number | undefined
  dueAt?: number | undefined
  isHeld: boolean
}): WaitingOne {
  const { road, id, lane, requeuedAt, dueAt, isHeld } = job
  const [first = ''] = lane.split('/', 1)
  const gateway = road === 'dispatch' || road === 'outbox' ? first : ''
  const cameAt = timeIn(id)
  const oldestAt = cameAt === undefined ? undefined : (requeuedAt ?? cameAt)
  return { road, gateway, oldestAt, isHeld, ...defined({ dueAt }) }
}

/** Counting the messages that wait for a consumer stops here. */
export const MAX_BACKLOG = 10_000
