/** Maximum number of bars for a day or less. */
const MAX_BARS = 48
const MINUTE = 60_000
export const DAY = 86_400_000
/** The daemon counts runs in slots of this length (ms). */
const SLOT = 5 * MINUTE
const UNITS = { s: 1_000, m: MINUTE, h: 60 * MINUTE, d: DAY }

/**
 * Sums the slots of the last day, or of a shorter range, in bars up to `end`. All bars have the
 * same number of slots, so that a steady load gives bars of the same height.
 */
export function barsOf(slots, { since, until }, now) {
  const end = until === undefined ? now : Math.min(Date.parse(until) || now, now)
  const length = Math.min(DAY, lengthOf(since) ?? end - (Date.parse(since) || 0))
  const width = SLOT * Math.max(1, Math.ceil(length / MAX_BARS / SLOT))
  const number = Math.max(1, Math.ceil(length / width))
  const from = end - number * width
  const bars = Array.from({ length: number }, (_, at) => {
    const start = from + at * width
    const inside = slots.filter((slot) => slot.at >= start && slot.at < start + width)
    const sum = (field) => inside.reduce((total, slot) => total + slot[field], 0)
    return { start, runs: sum('runs'), failed: sum('failed') }
  })
  return { bars, length, end }
}

/** The length (ms) of an age such as `6h`. Undefined for a time. */
function lengthOf(since = '') {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(since) ?? []
  return unit && Number(number) * UNITS[unit]
}
