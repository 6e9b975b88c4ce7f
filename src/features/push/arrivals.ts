import { defined } from '../../lib/defined.ts'

/**
 * Says of failed attempts when a later attempt at the same event succeeded (`deliveredAt`, Unix ms), also
 * one of another delivery, such as a replay. `attempts`: newest first.
 */
export function withArrivals(attempts: readonly object[]): object[] {
  const successes = Map.groupBy(
    attempts.filter((each) => !isFailed(each)),
    (each) => Object(each).event,
  )
  return attempts.map((attempt) => {
    const { arrivedAt, ...each } = Object(attempt)
    if (!isFailed(each) || each.deliveredAt !== undefined) return each
    const first = successes.get(each.event)?.findLast((success) => Object(success).at > each.at)
    return { ...each, ...defined({ deliveredAt: first === undefined ? arrivedAt : Object(first).at }) }
  })
}

/** The newest attempts at events that have not arrived: all of them failed. `attempts`: newest first. */
export function openAttempts(attempts: readonly object[]): object[] {
  const seen = new Set<unknown>()
  return attempts.filter((each) => {
    const { event, deliveredAt } = Object(each)
    const isNewest = !seen.has(event)
    seen.add(event)
    return isNewest && isFailed(each) && deliveredAt === undefined
  })
}

function isFailed(attempt: object): boolean {
  return 'reason' in attempt
}
