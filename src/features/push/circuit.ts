import { backoff } from '../../lib/backoff.ts'

/** Number of consecutive failures at which the circuit opens. */
const FAILURE_LIMIT = 5
/** How long (ms) it stays open: exponential, from the first pause to the longest. */
const PAUSE = { first: 5_000, longest: 300_000 }

/** A pause that a receiver asked for: when, and until when (Unix ms). */
export type Pause = { at: number; until: number }

/** Whether a receiver failed so often in a row that it gets only single events as probes. */
export function isFailing({ failures }: { failures: number }): boolean {
  return failures >= FAILURE_LIMIT
}

/**
 * A circuit breaker. While it is closed, up to `concurrency` attempts run; while it is open, none.
 * It opens after too many failures, and is then half-open: a single event is sent as a probe. It is
 * also open during a pause that the receiver asked for, and afterwards closed, unless there were
 * too many failures. `before`: the consecutive failures before this start, and the pause that the
 * receiver asked for. After too many failures, it starts half-open.
 */
export function createCircuit(
  concurrency: number,
  now: () => number,
  before: { failures: number; pause?: Pause | undefined },
) {
  let { failures } = before
  let { at: askedAt, until: retryAfter } = before.pause ?? { at: 0, until: 0 }
  let openUntil = retryAfter
  let openings = 0
  // Most receivers never fail: `openUntil > 0` comes first, because reading the clock is expensive.
  const isOpen = () => openUntil > 0 && now() < openUntil
  return {
    /** Consecutive failures. */
    failures: () => failures,
    isOpen,
    /**
     * End of the newest opening (Unix ms), also if it is past; 0 if there was none. A success forgets
     * openings because of failures.
     */
    openUntil: () => openUntil,
    /** The pause that the receiver asked for, if it has not ended. */
    askedPause: (): Pause | undefined =>
      retryAfter > now() ? { at: askedAt, until: retryAfter } : undefined,
    /** Number of times the circuit has opened. */
    openings: () => openings,
    isClosed: () => !isOpen() && !isFailing({ failures }),
    /** Maximum number of concurrent attempts at the moment. */
    capacity(): number {
      if (isOpen()) return 0
      return isFailing({ failures }) ? 1 : concurrency
    },
    /** Ms until it is half-open; undefined if it is not open. */
    msUntilHalfOpen: () => (isOpen() ? openUntil - now() : undefined),
    succeeded(): void {
      failures = 0
      // Successes of running attempts do not end the pause that the receiver asked for.
      openUntil = retryAfter
    },
    /** `retryAt`: end of the pause that the receiver asked for (Unix ms). */
    failed(retryAt: number): void {
      const wasOpen = isOpen()
      // Attempts that were already running when it opened because of failures are no further evidence.
      if (!isFailing({ failures }) || !wasOpen) failures++
      const pauseEnd = isFailing({ failures }) ? now() + backoff(failures - FAILURE_LIMIT + 1, PAUSE) : 0
      if (retryAt > 0) askedAt = now()
      retryAfter = Math.max(retryAfter, retryAt)
      openUntil = Math.max(openUntil, retryAfter, pauseEnd)
      if (!wasOpen && isOpen()) openings++
    },
  }
}
