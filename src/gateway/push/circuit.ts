import { backoff } from '../../lib/backoff.ts'

/** Failures in a row, and until when (Unix ms) nothing is sent. */
export type CircuitState = { failures: number; openUntil: number }

const TOLERATED = 5
const REST = { first: 5_000, longest: 300_000 }

/** Whether nothing but a probe is sent to a receiver: it failed too often in a row. */
export function isFailing({ failures }: CircuitState): boolean {
  return failures >= TOLERATED
}

/**
 * Leaves a receiver alone that keeps failing, or that wants to be: closed, open, and after that half-open, when one event
 * is tried and the others wait for what becomes of it. `before`: what another daemon had come to.
 */
export function createCircuit(
  most: number,
  now: () => number,
  before: CircuitState = { failures: 0, openUntil: 0 },
) {
  let state = before
  const isOpen = () => now() < state.openUntil
  return {
    state: () => state,
    isOpen,
    isClosed: () => !isOpen() && !isFailing(state),
    /** How many may be under way now. */
    room: () => (isOpen() ? 0 : isFailing(state) ? 1 : most),
    succeeded(): void {
      state = { failures: 0, openUntil: 0 }
    },
    /** `retryAt`: when the receiver wants to hear again (Unix ms). */
    failed(retryAt: number): void {
      // Those that were under way when it opened say nothing new.
      const failures = state.failures + (isFailing(state) && isOpen() ? 0 : 1)
      const rest = failures < TOLERATED ? 0 : now() + backoff(failures - TOLERATED + 1, REST)
      state = { failures, openUntil: Math.max(state.openUntil, retryAt, rest) }
    },
  }
}
