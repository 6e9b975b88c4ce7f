import { createBell } from './loop.ts'

/**
 * Calls `attempt` immediately, after each wake-up and after `retryIn` (ms), until it returns a value. Resolves undefined at the
 * timeout, or when `signal` aborts. Both run on the monotonic clock: a wall clock that jumps neither holds a retry nor spins. `watch` subscribes before the first attempt, so that no event is missed,
 * and returns a function that unsubscribes.
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
  const bell = createBell()
  const stop = options.watch(bell.ring)
  signal?.addEventListener('abort', bell.ring)
  try {
    // A disconnected caller must not take anything, as it would be lost.
    while (!signal?.aborted) {
      bell.clear()
      const outcome = await options.attempt()
      if (outcome.value !== undefined) return outcome.value
      const left = deadline - performance.now()
      if (left <= 0) return undefined
      await bell.sleep(Math.min(left, outcome.retryIn ?? left))
    }
    return undefined
  } finally {
    stop()
    signal?.removeEventListener('abort', bell.ring)
  }
}
