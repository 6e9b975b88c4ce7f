/** The longest time (ms) for which the backlog of a group is measured. */
const MEASURED = 86_400_000
/** A backlog may be older than its first measurement by this time (ms). */
const LATE = 60_000
/** The interval (ms) of old measurements. */
const INTERVAL = 600_000

/**
 * Why the measurements of a backlog begin at `first`, after its oldest event (`oldest`). Undefined
 * if they do not, or only because of the chosen range (`chosen`: its length in ms; NaN: fixed
 * bounds).
 */
export function missingHistory(
  { first, oldest, chosen }: { first: number; oldest?: number | undefined; chosen?: number | undefined },
  now: number,
): string | undefined {
  if (oldest === undefined || first - oldest <= LATE) return undefined
  if (chosen !== undefined && !(first - (now - chosen) > INTERVAL)) return undefined
  if (now - first >= MEASURED - INTERVAL) return 'measurements are kept for a day'
  return 'the daemon keeps measurements in memory, and began then'
}
