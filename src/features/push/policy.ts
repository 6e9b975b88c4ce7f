import type { PushPolicy } from '../../core/subscription-info.ts'
import type { PushSubscription } from './schema.ts'

/** How a subscription sends events, and how often it tries. */
export function policyOf(subscription: PushSubscription): PushPolicy {
  const { retry, timeout, secret, format, concurrency, rate } = subscription
  const { attempts, first, longest } = retry
  const most = longestTime(retry)
  return {
    attempts,
    delay: first,
    maxDelay: longest,
    // Jitter halves a delay at most.
    lasts: { least: most / 2, most },
    timeout,
    secrets: secret.length,
    format,
    concurrency,
    ...(rate !== 'off' && { rate }),
  }
}

/** The sum (ms) of the delays between all attempts. */
function longestTime({ attempts, first, longest }: PushSubscription['retry']): number {
  let sum = 0
  let delay = Math.min(first, longest)
  let left = attempts - 1
  for (; left > 0 && delay < longest; left--) {
    sum += delay
    delay = Math.min(longest, delay * 2)
  }
  return sum + left * delay
}
