import { backoff } from '../../lib/backoff.ts'

const TOLERATED = 5
const REST = { first: 5_000, longest: 300_000 }

/** Whether a receiver failed so often in a row that it only gets single probes. */
export function isFailing({ failures }: { failures: number }): boolean {
  return failures >= TOLERATED
}

/**
 * A circuit breaker: closed, open after too many failures or when the receiver asks for a pause,
 * then half-open, where a single event is sent as a probe.
 */
export function createCircuit(most: number, now: () => number) {
  let failures = 0
  let openUntil = 0
  let rests = 0
  /**
   * The receiver asked for a pause until this time (Unix ms), regardless of the results of running
   * attempts.
   */
  let asked = 0
  // Reading the clock costs more than the rest, and most receivers never fail.
  const isOpen = () => openUntil > 0 && now() < openUntil
  return {
    /** Consecutive failures. */
    failures: () => failures,
    isOpen,
    /** Number of times the circuit has opened. */
    rests: () => rests,
    isClosed: () => !isOpen() && !isFailing({ failures }),
    /** Maximum number of concurrent attempts at the moment. */
    room: () => (isOpen() ? 0 : isFailing({ failures }) ? 1 : most),
    /** Ms until it is half-open; undefined if it is not open. */
    restsFor: () => (isOpen() ? openUntil - now() : undefined),
    succeeded(): void {
      failures = 0
      openUntil = asked
    },
    /** `retryAt`: end of the pause that the receiver asked for (Unix ms). */
    failed(retryAt: number): void {
      const wasOpen = isOpen()
      // Failures of attempts that were already running when it opened do not count again.
      if (!isFailing({ failures }) || !wasOpen) failures++
      const rest = isFailing({ failures }) ? now() + backoff(failures - TOLERATED + 1, REST) : 0
      asked = Math.max(asked, retryAt)
      openUntil = Math.max(openUntil, asked, rest)
      if (!wasOpen && isOpen()) rests++
    },
  }
}
