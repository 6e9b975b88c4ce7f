import { pause } from '../../../src/lib/pause.ts'

type Fetch = typeof globalThis.fetch

/**
 * Wraps a `fetch` so that it waits and repeats rate-limited requests. Bolt's client does not wait
 * itself, because it would mix up calls of several runs.
 */
export const waitingForLimits =
  (fetch: Fetch): Fetch =>
  async (input, init) => {
    for (;;) {
      const response = await fetch(input, init)
      const seconds = Number(response.headers.get('retry-after'))
      if (response.status !== 429 || !(seconds > 0)) return response
      await response.body?.cancel()
      await pause(seconds * 1000)
    }
  }
