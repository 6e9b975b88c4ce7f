import { backoff } from '../../lib/backoff.ts'

const TOLERATED = 5
const REST = { first: 5_000, longest: 300_000 }

/** Whether nothing but a probe is sent to a receiver: it failed too often in a row. */
export function isFailing({ failures }: { failures: number }): boolean {
  return failures >= TOLERATED
}

/**
 * Leaves a receiver alone that keeps failing, or that wants to be: closed, open, and after that half-open, when one event
 * is tried and the others wait for what becomes of it.
 */
export function createCircuit(most: number, now: () => number) {
  let failures = 0
  let openUntil = 0
  let rests = 0
  /** When the receiver wants to hear again, whatever becomes of what it had by then. */
  let asked = 0
  // Reading the clock costs more than the rest, and most receivers never fail.
  const isOpen = () => openUntil > 0 && now() < openUntil
  return {
    /** In a row. */
    failures: () => failures,
    isOpen,
    /** How many times it opened. */
    rests: () => rests,
    isClosed: () => !isOpen() && !isFailing({ failures }),
    /** How many may be under way now. */
    room: () => (isOpen() ? 0 : isFailing({ failures }) ? 1 : most),
    /** Ms until it is half-open, where it is open. */
    restsFor: () => (isOpen() ? openUntil - now() : undefined),
    succeeded(): void {
      failures = 0
      openUntil = asked
    },
    /** `retryAt`: when the receiver wants to hear again (Unix ms). */
    failed(retryAt: number): void {
      const wasOpen = isOpen()
      // Those that were under way when it opened say nothing new.
      if (!isFailing({ failures }) || !wasOpen) failures++
      const rest = isFailing({ failures }) ? now() + backoff(failures - TOLERATED + 1, REST) : 0
      asked = Math.max(asked, retryAt)
      openUntil = Math.max(openUntil, asked, rest)
      if (!wasOpen && isOpen()) rests++
    },
  }
}
