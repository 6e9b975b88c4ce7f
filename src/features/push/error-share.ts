import type { Report } from './records.ts'

/** With fewer attempts, there is no share. */
const FEWEST = 10
/** Share of failed attempts at which a receiver counts as unreliable. */
const BEGINS = 0.2
/** Share of failed attempts below which it counts as reliable again. */
const ENDS = 0.1

/** Number of newest attempts that make the share. */
const EXAMINED = 50

/** How many of the newest attempts failed. */
export function errorShareOf(attempts: readonly { reason?: unknown }[]): { failed: number; of: number } {
  const newest = attempts.slice(0, EXAMINED)
  return { failed: newest.filter(({ reason }) => reason !== undefined).length, of: newest.length }
}

/**
 * Since when a share of the attempts fails (Unix ms); undefined if nearly all succeed. `attempts`:
 * the newest ones. `before`: the previous answer.
 */
export function errorsSince(attempts: Report['attempts'], before: number | undefined): number | undefined {
  const { failed, of } = errorShareOf(attempts)
  if (of < FEWEST) return before
  if (failed / of < (before === undefined ? BEGINS : ENDS)) return undefined
  const firstFailure = attempts.slice(0, EXAMINED).findLast(({ reason }) => reason !== undefined)
  return before ?? Number(firstFailure?.at)
}
