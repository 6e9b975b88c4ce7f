import type { Rate } from '../../src/core/units.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'

/**
 * The turns under one rate limit. Called by whoever wants to send now, `who` being the same each time: 0 is a turn,
 * taken; else the milliseconds until theirs, which is kept for them.
 */
export type Turns = (who: string) => number

/** So much later a turn is still kept (ms): who was told to come again does not come to the millisecond. */
const GRACE = 5000

/** Gives turns in the order in which they were asked for, with bursts of `rate.count` while nobody waits. */
export function createTurns(rate: Rate, now: () => number): Turns {
  const bucket = createTokenBucket(rate, now)
  /** When whose turn comes, the next first. */
  const due = new Map<string, number>()
  let last = 0

  const keep = (who: string, at: number, time: number): number => {
    due.set(who, at)
    last = Math.max(last, at)
    return Math.max(1, at - time)
  }

  return (who) => {
    const time = now()
    for (const [other, at] of due) {
      if (at + GRACE >= time) break
      due.delete(other)
    }
    const own = due.get(who)
    if (own === undefined && due.size > 0) return keep(who, last + rate.per / rate.count, time)
    if (own !== undefined && own > time) return own - time
    const wait = bucket()
    if (wait > 0) return keep(who, time + wait, time)
    due.delete(who)
    return 0
  }
}
