import { createBell } from './loop.ts'

/**
 * Waits until `attempt`, called at once, after each wake-up and at `retryAt` (Unix ms), has a value; undefined at the timeout (ms)
 * or when `signal` aborts. `watch` listens before the first attempt, so that nothing is missed, and returns what ends it.
 */
export async function waitFor<T>(options: {
  attempt(): Promise<{ value?: T | undefined; retryAt?: number | undefined }>
  watch(wake: () => void): () => void
  /** Ms; without it for ever. */
  timeout?: number
  signal?: AbortSignal | undefined
}): Promise<T | undefined> {
  const { signal } = options
  const deadline = Date.now() + (options.timeout ?? Number.POSITIVE_INFINITY)
  const bell = createBell()
  const stop = options.watch(bell.ring)
  signal?.addEventListener('abort', bell.ring)
  try {
    // Whoever went away must not take anything: it would be lost.
    while (!signal?.aborted) {
      bell.clear()
      const outcome = await options.attempt()
      if (outcome.value !== undefined) return outcome.value
      if (Date.now() >= deadline) return undefined
      await bell.sleep(Math.min(deadline, outcome.retryAt ?? deadline) - Date.now())
    }
    return undefined
  } finally {
    stop()
    signal?.removeEventListener('abort', bell.ring)
  }
}
