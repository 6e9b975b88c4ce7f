/** How often and how quickly a failed attempt is repeated. Times in milliseconds. */
export type RetryPolicy = {
  attempts: number
  backoff: 'exponential' | 'fixed'
  delay: number
  maxDelay: number
}

/**
 * The pause before the next attempt: `delay` doubled for each failure, up to `maxDelay`, of which a random
 * half is left out ("equal jitter"), so that what failed together does not come back together.
 */
export function backoffDelay(
  policy: RetryPolicy,
  failures: number,
  random: () => number = Math.random,
): number {
  const factor = policy.backoff === 'exponential' ? 2 ** Math.min(30, Math.max(0, failures - 1)) : 1
  const full = Math.min(policy.maxDelay, policy.delay * factor)
  return Math.round(full / 2 + (full / 2) * random())
}
