/**
 * A time of day with its zone, such as `12:05 UTC`. The console shows it in the zone of the
 * browser.
 */
export function timeOfDay(at: number): string {
  return `${new Date(at).toISOString().slice(11, 16)} UTC`
}

/** A day and a time with its zone, such as `2026-11-28 12:05 UTC`. */
export function dayAndTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 10)} ${timeOfDay(at)}`
}
