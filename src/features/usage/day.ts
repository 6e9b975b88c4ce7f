export const DAY = 86_400_000

/** `2026-11-28`: the day of a time (Unix ms) in UTC. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** The days from one time to another, both included, oldest first. */
export function daysBetween(from: number, to: number): string[] {
  const days: string[] = []
  for (let at = Date.parse(dayOf(from)); at <= to; at += DAY) days.push(dayOf(at))
  return days
}
