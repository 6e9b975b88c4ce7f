/**
 * A smaller change (ms) of the wall clock between two calls is followed immediately, for example if
 * NTP slews the clock. A larger one is a jump.
 */
const MAX_DRIFT = 2_000
/** How long (ms) a jump must last before it is accepted. */
const ACCEPT_AFTER = 30_000

/**
 * The time (Unix ms) for schedules, retries, leases and approvals. Runs on the monotonic clock and
 * follows the wall clock. A jump of the wall clock counts only after it has lasted for half a
 * minute, so a clock that is a day ahead for a few seconds ends no lease or approval and skips no
 * schedule. Callers must still expect steps back: of less than 2 s at any time, and larger ones
 * when a jump is accepted.
 */
export function createSteadyClock(
  wall: () => number = () => Date.now(),
  monotonic: () => number = () => performance.now(),
): () => number {
  let offset = wall() - monotonic()
  let jump: { offset: number; since: number } | undefined
  return () => {
    const elapsed = monotonic()
    const wallOffset = wall() - elapsed
    const isDrift = Math.abs(wallOffset - offset) < MAX_DRIFT
    const isSameJump = jump !== undefined && Math.abs(wallOffset - jump.offset) < MAX_DRIFT
    const hasLasted = isSameJump && jump !== undefined && elapsed - jump.since >= ACCEPT_AFTER
    if (isDrift || hasLasted) {
      offset = wallOffset
      jump = undefined
    } else if (!isSameJump) jump = { offset: wallOffset, since: elapsed }
    return Math.round(offset + elapsed)
  }
}
