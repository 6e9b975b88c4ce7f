/**
 * Waits until `attempt` returns something other than undefined: it is called at once, after each wake-up,
 * and at `retryAt` (Unix ms) where the attempt set one. Never polls. Resolves undefined at the timeout (ms)
 * or when `signal` aborts.
 *
 * `watch` starts to listen and returns the function that ends it; it is called before the first attempt, so
 * that nothing between the attempt and the wait is missed.
 */
export async function waitFor<T>(options: {
  attempt(): Promise<{ value: T; retryAt?: never } | { value?: never; retryAt?: number | undefined }>
  watch(wake: () => void): () => void
  timeout: number
  signal?: AbortSignal | undefined
  now?: () => number
}): Promise<T | undefined> {
  const now = options.now ?? Date.now
  const deadline = now() + options.timeout
  let woken = false
  let wake = () => {
    woken = true
  }
  const stop = options.watch(() => wake())
  const aborted = () => wake()
  options.signal?.addEventListener('abort', aborted)
  try {
    for (;;) {
      // Whoever went away must not take anything: it would be lost.
      if (options.signal?.aborted) return undefined
      woken = false
      const outcome = await options.attempt()
      if (outcome.value !== undefined) return outcome.value
      if (now() >= deadline) return undefined
      if (woken) continue
      const until = Math.min(deadline, outcome.retryAt ?? deadline)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(2 ** 31 - 1, Math.max(0, until - now())))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      wake = () => {
        woken = true
      }
    }
  } finally {
    stop()
    options.signal?.removeEventListener('abort', aborted)
  }
}
