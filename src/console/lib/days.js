const DAY = 86_400_000

/** The names of all days (UTC) from that of `from` to that of `to`, such as `2026-11-28`. */
export function daysBetween(from, to) {
  const days = []
  for (let at = Date.parse(from.slice(0, 10)); at <= Date.parse(to.slice(0, 10)); at += DAY)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}
