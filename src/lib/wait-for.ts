import { createWakeSignal } from './loop.ts'

/**
 * Calls `attempt` immediately, after each wake-up and after `retryIn` (ms), until it returns a
 * value. Resolves with undefined at the timeout, or when `signal` aborts. `watch` subscribes before
 * the first attempt, so that no event is missed, and returns a function that unsubscribes. Pauses
 * and timeout use the monotonic clock, so that a jump of the wall clock has no effect.
 */
export async function waitFor<T>(options: {
  attempt(): Promise<{ value?: T | undefined; retryIn?: number | undefined }>
  watch(wake: () => void): () => void
  /** In ms; absent: no timeout. */
  timeout?: number
  signal?: AbortSignal | undefined
}): Promise<T | undefined> {
  const { signal } = options
  const deadline = performance.now() + (options.timeout ?? Number.POSITIVE_INFINITY)
  const wakeSignal = createWakeSignal()
  const unsubscribe = options.watch(wakeSignal.wake)
  signal?.addEventListener('abort', wakeSignal.wake)
  try {
    // No attempt for a caller that has disconnected: what the attempt takes would be lost.
    while (!signal?.aborted) {
      wakeSignal.clear()
      const outcome = await options.attempt()
      if (outcome.value !== undefined) return outcome.value
      const left = deadline - performance.now()
      if (left <= 0) return undefined
      await wakeSignal.sleep(Math.min(left, outcome.retryIn ?? left))
    }
    return undefined
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', wakeSignal.wake)
  }
}
