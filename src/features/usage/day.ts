import { DAY } from '../../core/units.ts'

let latest = { number: Number.NaN, name: '' }

/**
 * The day of a time (Unix ms) in UTC, such as `2026-11-28`. It is called after each run, so the
 * last result is cached.
 */
export function dayOf(at: number): string {
  const number = Math.floor(at / DAY)
  if (number !== latest.number) latest = { number, name: new Date(at).toISOString().slice(0, 10) }
  return latest.name
}

/** The days from one time to another, inclusive, oldest first. */
export function daysBetween(from: number, to: number): string[] {
  const days: string[] = []
  for (let at = Date.parse(dayOf(from)); at <= to; at += DAY) days.push(dayOf(at))
  return days
}
