const DAY = 86_400_000

/**
 * The names of all steps of `step` ms from that of `from` to that of `to`: days such as
 * `2026-11-28`, or shorter ones such as `2026-11-28T09:05Z`.
 */
export function stepsBetween(from, to, step) {
  if (step >= DAY) return daysBetween(from, to)
  const steps = []
  const first = Math.floor(Date.parse(from) / step) * step
  for (let at = first; at <= Date.parse(to); at += step)
    steps.push(`${new Date(at).toISOString().slice(0, 16)}Z`)
  return steps
}

/** The names of all days (UTC) from that of `from` to that of `to`, such as `2026-11-28`. */
export function daysBetween(from, to) {
  const days = []
  for (let at = Date.parse(from.slice(0, 10)); at <= Date.parse(to.slice(0, 10)); at += DAY)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}
