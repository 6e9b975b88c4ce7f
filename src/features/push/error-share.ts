import type { Report } from './records.ts'

/** With fewer attempts, the share means nothing. */
const MIN_ATTEMPTS = 10
/** Share of failed attempts at which a receiver counts as unreliable. */
const UNRELIABLE_SHARE = 0.2
/** Share of failed attempts below which it counts as reliable again. */
const RELIABLE_SHARE = 0.1

/** A receiver that accepted this many events in a row, and for which none waits, has recovered. */
const RECOVERED = 3

/** Number of newest attempts from which the share is computed. */
const EXAMINED = 50

/** The number of failed ones (`failed`) among the newest attempts (`of`). */
export function errorShareOf(attempts: readonly { reason?: unknown }[]): { failed: number; of: number } {
  const newest = attempts.slice(0, EXAMINED)
  return { failed: newest.filter(({ reason }) => reason !== undefined).length, of: newest.length }
}

/**
 * Since when a large share of the attempts fails (Unix ms); undefined if nearly all succeed.
 * `attempts`: newest first. `before`: the previous result.
 */
export function errorsSince(attempts: Report['attempts'], before: number | undefined): number | undefined {
  const { failed, of } = errorShareOf(attempts)
  if (of < MIN_ATTEMPTS) return before
  if (failed / of < (before === undefined ? UNRELIABLE_SHARE : RELIABLE_SHARE)) return undefined
  const firstFailure = attempts.slice(0, EXAMINED).findLast(({ reason }) => reason !== undefined)
  return before ?? Number(firstFailure?.at)
}

/**
 * Whether a receiver has recovered from its errors: nothing `waits`, and the newest attempts
 * succeeded. `attempts`: newest first.
 */
export function hasRecovered(attempts: Report['attempts'], waits: boolean): boolean {
  const newest = attempts.slice(0, RECOVERED)
  return !waits && newest.every(({ reason }) => reason === undefined)
}
