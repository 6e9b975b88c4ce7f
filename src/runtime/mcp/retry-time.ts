import { backoff } from '../../lib/backoff.ts'

/** Pauses (ms) between connection attempts. */
const BACKOFF = { first: 500, longest: 60_000 }

/**
 * Decides when the next attempt to connect is due. `failures`: the number of failures in a row.
 * `wake` is called when the next attempt is due earlier or later than before.
 */
export function createRetryTime(failures: () => number, wake: () => void) {
  let retryAt = 0
  let isWanted = false
  const failed = () => {
    retryAt = performance.now() + backoff(failures(), BACKOFF)
  }
  return {
    /** Called for a call or a login, which do not wait for the end of the pause. */
    want(): void {
      isWanted = true
      wake()
    },
    /** Called when an attempt begins, and when it succeeds. */
    clearWant(): void {
      isWanted = false
    },
    /** Starts the pause after a failed attempt. */
    failed,
    /** Starts the pause after the connection was lost. */
    lost(): void {
      failed()
      wake()
    },
    isDue: () => isWanted || performance.now() >= retryAt,
    /** The rest of the pause in ms. */
    left: () => Math.max(0, retryAt - performance.now()),
  }
}
