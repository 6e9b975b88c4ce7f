import { backoff } from '../../lib/backoff.ts'

/** Pauses (ms) between connection attempts. */
const BACKOFF = { first: 500, longest: 60_000 }

/**
 * When the next attempt to connect is due. `failures`: the number of failures in a row. `wake` is
 * called when that time changes while nothing is attempted.
 */
export function createRetryTime(failures: () => number, wake: () => void) {
  let retryAt = 0
  let isWanted = false
  const failed = () => {
    retryAt = performance.now() + backoff(failures(), BACKOFF)
  }
  return {
    /** A call or a login does not wait for the pause. */
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
