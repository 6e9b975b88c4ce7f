/**
 * The note that somebody ended the back-off of a message. It may be stored after that of the attempt.
 */
export const RETRIED_EARLY = 'retried early'

/** `retry` of a route, as in `route-list`. */
export type RouteRetry = { attempts?: unknown; backoff?: unknown; delay?: unknown; maxDelay?: unknown }

/** How long (ms) a test message is retried: somebody watches it. */
export const TEST_LASTS = 300_000

/**
 * The number of the last attempt before a message becomes a dead letter (`of`), and when that one
 * begins at the latest (`givesUpAt`, Unix ms), without the time that attempts take. Empty if the
 * retries of the route are unknown. `next`: the next attempt. `endsAt` replaces `givesUpAt` if no
 * attempt begins after that time, and it may come before the attempt `of`.
 */
export function lastAttemptAfter(
  next: { at: number; attempt: number },
  retry: RouteRetry,
  endsAt = Number.POSITIVE_INFINITY,
): { of?: number; givesUpAt?: number; endsAt?: number } {
  const { attempts, backoff, delay, maxDelay } = retry
  if (typeof attempts !== 'number') return {}
  let givesUpAt = next.at
  for (let failed = next.attempt; failed < attempts; failed++) {
    const full = Math.min(Number(maxDelay), Number(delay) * 2 ** Math.min(30, failed - 1))
    givesUpAt += backoff === 'fixed' ? Number(delay) : full
  }
  return givesUpAt > endsAt ? { of: attempts, endsAt } : { of: attempts, givesUpAt }
}
