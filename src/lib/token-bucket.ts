/** Tolerance for rounding errors, in tokens. */
const TOLERANCE = 1e-6

/**
 * A bucket of `rate.count` tokens, refilled evenly over `rate.per` ms. A call takes a token and
 * returns 0; without a token, it returns the ms until there is one.
 */
export function createTokenBucket(rate: { count: number; per: number } | 'off', now: () => number) {
  if (rate === 'off') return () => 0
  const perToken = rate.per / rate.count
  let tokens = rate.count
  let filledAt = now()
  return () => {
    const time = now()
    // A clock that was set back must not drain the bucket.
    tokens = Math.min(rate.count, tokens + Math.max(0, time - filledAt) / perToken)
    filledAt = time
    const missing = 1 - TOLERANCE - tokens
    if (missing > 0) return Math.max(1, Math.ceil(missing * perToken))
    tokens = Math.max(0, tokens - 1)
    return 0
  }
}
