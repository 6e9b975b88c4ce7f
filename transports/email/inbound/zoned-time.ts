/**
 * Converts a local time such as `2026-12-03T09:00:00` in an IANA zone to Unix ms; undefined for an
 * invalid zone or time.
 */
export function instantOf(local: string, zone: string): number | undefined {
  const asUtc = Date.parse(`${local.slice(0, 19)}Z`)
  const format = formatFor(zone)
  if (Number.isNaN(asUtc) || !format) return undefined
  // Near a clock change, the offset at the instant may differ from that of the first guess.
  const guess = asUtc - offsetAt(asUtc, format)
  return asUtc - offsetAt(guess, format)
}

/** The local time of an instant in a zone, as if it were UTC (Unix ms); UTC for an unknown zone. */
export function localIn(instant: number, zone: string): number {
  const format = formatFor(zone)
  return format ? instant + offsetAt(instant, format) : instant
}

function formatFor(zone: string): Intl.DateTimeFormat | undefined {
  if (zone === '') return undefined
  const number = 'numeric'
  const parts = {
    year: number,
    month: number,
    day: number,
    hour: number,
    minute: number,
    second: number,
  } as const
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone, hourCycle: 'h23', ...parts })
  } catch {
    return undefined
  }
}

/** The offset of the zone from UTC at an instant, in ms. */
function offsetAt(instant: number, format: Intl.DateTimeFormat): number {
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
  return local - Math.floor(instant / 1000) * 1000
}
