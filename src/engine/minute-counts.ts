/** Counts per minute of the last hour. */
export type Minutes = { counts: Float64Array; minute: number }

const MINUTE = 60_000
const MINUTES = 60

export function minutesAt(at: number): Minutes {
  return { counts: new Float64Array(MINUTES), minute: Math.floor(at / MINUTE) }
}

export function addAt(minutes: Minutes, at: number, count: number): void {
  move(minutes, at)
  const index = minutes.minute % MINUTES
  minutes.counts[index] = (minutes.counts[index] ?? 0) + count
}

/** Sum over the last hour, from the minute of `since`. */
export function sumSince(minutes: Minutes, at: number, since: number): number {
  move(minutes, at)
  const oldest = Math.max(minutes.minute - MINUTES + 1, Math.floor(since / MINUTE))
  let total = 0
  for (let minute = oldest; minute <= minutes.minute; minute++) total += minutes.counts[minute % MINUTES] ?? 0
  return total
}

/** Whether a time is in one of the minutes that are counted at `at`. */
export function isCounted(since: number, at: number): boolean {
  return Math.floor(since / MINUTE) > Math.floor(at / MINUTE) - MINUTES
}

/** The counts of the last hour, oldest first. */
export function perMinute(minutes: Minutes, at: number): number[] {
  move(minutes, at)
  return Array.from(
    { length: MINUTES },
    (_, index) => minutes.counts[(minutes.minute + 1 + index) % MINUTES] ?? 0,
  )
}

/** Advances to the minute of `at`, and clears the minutes in between. */
function move(minutes: Minutes, at: number): void {
  const minute = Math.floor(at / MINUTE)
  if (minute <= minutes.minute) return
  const passed = Math.min(MINUTES, minute - minutes.minute)
  for (let step = 1; step <= passed; step++) minutes.counts[(minutes.minute + step) % MINUTES] = 0
  minutes.minute = minute
}
