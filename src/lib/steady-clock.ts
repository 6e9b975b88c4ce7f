/** Maximum drift (ms) of the wall clock between two checks that is followed at once, as when NTP slews it. */
const DRIFT = 2_000
/** How long (ms) a jump must last before it is accepted. */
const HOLD = 30_000

/**
 * The time (Unix ms) for schedules, retries, leases and approvals. Runs on the monotonic clock and follows the wall clock. A jump of
 * the wall clock counts only after it has lasted for half a minute, so a clock that is a day ahead for a few seconds ends no
 * lease or approval and skips no schedule. Users must still expect one step back.
 */
export function createSteadyClock(
  wall: () => number = () => Date.now(),
  monotonic: () => number = () => performance.now(),
): () => number {
  let offset = wall() - monotonic()
  let jump: { offset: number; since: number } | undefined
  return () => {
    const elapsed = monotonic()
    const seen = wall() - elapsed
    if (Math.abs(seen - offset) < DRIFT) {
      offset = seen
      jump = undefined
    } else if (!jump || Math.abs(seen - jump.offset) >= DRIFT) jump = { offset: seen, since: elapsed }
    else if (elapsed - jump.since >= HOLD) {
      offset = seen
      jump = undefined
    }
    return Math.round(offset + elapsed)
  }
}
