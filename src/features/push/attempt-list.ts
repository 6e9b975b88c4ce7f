import { defined } from '../../lib/defined.ts'
import type { Answer } from './post.ts'
import type { Report } from './records.ts'

/** Number of newest attempts in the report. */
export const REPORTED = 200
/** Number of older failed attempts that are in the report too. */
const REPORTED_FAILURES = 100
/** Maximum number of attempts in memory. Then most are dropped, except the newest. */
const MAX_IN_MEMORY = 400

/** `at`: when it began. `since`: when the event was replayed, if it was. Both in Unix ms. */
type Attempt = {
  at: number
  event: string
  attempt: number
  ms: number
  since?: number
  answer: Answer
} & Settlement

/**
 * What follows a failed attempt: another one (`nextAt`, Unix ms; pauses of the receiver may delay
 * it), or a dead letter. `deliveredAt`: the start of a later attempt that succeeded (Unix ms).
 */
export type Settlement = {
  nextAt?: number
  isDead?: boolean
  deliveredAt?: number
  /** When another delivery of the event, such as a replay, began the attempt that succeeded (Unix ms). */
  arrivedAt?: number
}

/** The newest attempts of one subscription. `stored`: those of the report of an earlier start. */
export function createAttemptList(stored: Report['attempts']) {
  /** Attempts made before those in `attempts`, newest first. */
  let earlier = stored
  /** Newest last. */
  const attempts: Attempt[] = []
  /** The keys of those that were in the last report. */
  let reported = new Set(stored.map(keyOf))
  /** The last failed attempts in memory, by their delivery (`deliveryOf`). */
  let failed = failedIn(stored)
  /** The events of these and of failed attempts that were withdrawn. */
  let failedEvents = eventsOf(failed)
  const newest = () => kept([...attempts.toReversed().map(shownAttempt), ...earlier])
  return {
    /** Those that the report keeps, newest first. */
    newest,
    /**
     * The number of the next attempt of a delivery. `counted`: number of attempts counted by the
     * retries, without those that failed while the receiver was paused. A retried dead letter
     * starts again at 1.
     */
    numberOf(delivery: { event: string; since?: number }, counted: number): number {
      const last = failed.get(deliveryOf(delivery))
      return last === undefined || last.isDead ? counted : Math.max(counted, Number(last.attempt) + 1)
    },
    add(attempt: Attempt): void {
      const delivery = deliveryOf(attempt)
      if (attempt.answer.reason !== undefined) {
        failed.set(delivery, attempt)
        failedEvents.add(attempt.event)
      } else if (failedEvents.delete(attempt.event)) {
        // Failed attempts are kept longer than the success that ended them.
        markDelivered([...attempts, ...earlier], attempt)
        failed.delete(delivery)
      }
      attempts.push(attempt)
      if (attempts.length <= MAX_IN_MEMORY) return
      earlier = newest()
      attempts.length = 0
      failed = failedIn(earlier)
      failedEvents = eventsOf(failed)
    },
    /** Notes the attempts of a report that was stored. */
    wasReported(report: Report['attempts']): void {
      reported = new Set(report.map(keyOf))
    },
    /** Forgets those that an erasure has removed from the last report. `left`: the others. */
    dropErased(left: Report['attempts']): void {
      const kept = new Set(left.map(keyOf))
      const isKept = (each: object) => !reported.has(keyOf(each)) || kept.has(keyOf(each))
      earlier = earlier.filter(isKept)
      attempts.splice(0, attempts.length, ...attempts.filter(isKept))
    },
    /** Records what follows the last failed attempt of a delivery. */
    settle(delivery: { event: string; since?: number }, settlement: Settlement): void {
      Object.assign(failed.get(deliveryOf(delivery)) ?? {}, settlement)
    },
  }
}

/** Tells the deliveries of an event apart: each replay makes another one. */
function deliveryOf({ event, since = 0 }: { event?: string; since?: number }): string {
  return `${event} ${since}`
}

type Failed = { event?: string; attempt?: number } & Settlement

/** `attempts`: newest first. */
function failedIn(attempts: Report['attempts']): Map<string, Failed> {
  const failed = new Map<string, Failed>()
  for (const attempt of attempts) {
    const { reason, deliveredAt } = attempt
    const delivery = deliveryOf(attempt)
    if (reason !== undefined && deliveredAt === undefined && !failed.has(delivery))
      failed.set(delivery, attempt)
  }
  return failed
}

function eventsOf(failed: ReadonlyMap<string, { event?: string }>): Set<string> {
  return new Set([...failed.values()].map(({ event = '' }) => event))
}

/** Notes at the failed attempts at an event that a later one succeeded, of their delivery or another. */
function markDelivered(attempts: (Attempt | Report['attempts'][number])[], success: Attempt): void {
  const { event, at } = success
  const delivery = deliveryOf(success)
  for (const each of attempts) {
    if (each.event !== event) continue
    if (deliveryOf(each) !== delivery) {
      each.arrivedAt ??= at
      continue
    }
    each.deliveredAt = at
    delete each.nextAt
    delete each.isDead
  }
}

/** Tells attempts apart. */
function keyOf(attempt: object): string {
  const { at, event, attempt: number } = Object(attempt)
  return JSON.stringify([at, event, number])
}

/** The attempts that the report keeps. `all`: newest first. */
function kept(all: Report['attempts']): Report['attempts'] {
  const failed = all.slice(REPORTED).filter(({ reason }) => reason !== undefined)
  return [...all.slice(0, REPORTED), ...failed.slice(0, REPORTED_FAILURES)]
}

/**
 * How far back the attempts of a report go (Unix ms): the `newest` ones, successful and failed,
 * since `since`, and failed ones before them since `failedSince`. Absent without attempts.
 */
export function keptIn(attempts: readonly object[]) {
  const timeAt = (index: number): number => Number(Object(attempts.at(index)).at)
  if (attempts.length === 0) return { count: 0 }
  const newest = Math.min(attempts.length, REPORTED)
  return { count: attempts.length, newest, since: timeAt(newest - 1), failedSince: timeAt(-1) }
}

function shownAttempt({ answer: { retryAt: _, exchange: _e, sentAt: _s, ...outcome }, ...attempt }: Attempt) {
  return { ...attempt, ...outcome }
}

/** An attempt for the history of its message, which has the event: of a success, only what proves it. */
export function keptAttempt(made: Attempt) {
  const { at, attempt, ms, answer, since } = made
  if (answer.reason !== undefined) return shownAttempt(made)
  return { at, attempt, ms, ...defined({ status: answer.status, since }) }
}
