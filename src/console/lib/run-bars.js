import { ageText } from '../../lib/age-text.ts'
import { quantileOf } from '../../lib/quantile.ts'
import { addDurations, noDurations, quantile } from '../../lib/run-histogram.ts'
import { clockOf } from './clock-of.js'
import { daysBetween } from './days.js'

/** Maximum number of bars for a day or less. */
const MAX_BARS = 48
const MINUTE = 60_000
const DAY = 86_400_000
/** The daemon counts runs in slots of this length (ms). */
const SLOT = 5 * MINUTE
/** How long (ms) the daemon keeps the counts of days at least. */
const RETENTION = 7 * DAY
const UNITS = { s: 1_000, m: MINUTE, h: 60 * MINUTE, d: DAY }

/**
 * The bar chart for a result of `skill-usage`. Only runs of the last 24 hours are in `slots`: if
 * there were earlier ones, the chart has a bar per day of the range. `last`: the label at the right.
 */
export function runChart({ runs, days, slots, from, to, times }, range, now) {
  const isInSlots = runs === slots.reduce((total, slot) => total + slot.runs, 0)
  // A range within the last day begins at a time, and others at a day.
  if (from.includes('T') || isInSlots) {
    const { bars, length, width, end } = barsOf(slots, range, now, times)
    const isLastDay = length === DAY && range.until === undefined
    // A longer range begins with days without runs, which have no bars.
    const isLonger = isLastDay && !from.includes('T')
    const when = isLonger ? ', all of them in the last 24 hours' : ' in the last 24 hours'
    return {
      title: isLastDay ? `Runs${when}` : 'Runs over time',
      unit: isLastDay ? 'in the last 24 hours' : 'over time',
      bars: bars.map(({ start, ...counts }) => ({ name: clockOf(start), ...counts })),
      last: clockOf(end),
      length: ageText(width),
      isExact: times !== undefined,
    }
  }
  const bars = daysBetween(firstDay({ days, from }, now), to).map((name) => {
    const counted = days.find(({ day }) => day === name)
    const { runs = 0, failed = 0 } = counted ?? {}
    return { name, runs, failed, ...timesIn(counted ? [counted] : [], inDay(times, name)) }
  })
  const last = bars.at(-1).name
  return { title: 'Runs a day', unit: 'a day', bars, last, isExact: times !== undefined }
}

/** The first day of the range whose runs may be counted, so that a long range has no empty part. */
function firstDay({ days, from }, now) {
  const counted = Math.min(Date.parse(days[0].day), now - RETENTION)
  return new Date(Math.max(Date.parse(from), counted)).toISOString()
}

/**
 * Sums the slots of the last day, or of a shorter range, in bars up to `end`. All bars have the
 * same number of slots, so that a steady load gives bars of the same height.
 */
export function barsOf(slots, { since, until }, now, known) {
  const end = until === undefined ? now : Math.min(Date.parse(until) || now, now)
  const age = ageOf(since)
  const start = age === undefined ? Date.parse(since) || 0 : now - age
  const length = Math.min(DAY, end - start)
  const width = SLOT * Math.max(1, Math.ceil(length / MAX_BARS / SLOT))
  const number = Math.max(1, Math.ceil(length / width))
  const from = end - number * width
  const bars = Array.from({ length: number }, (_, at) => {
    const first = from + at * width
    const inside = slots.filter((slot) => slot.at >= first && slot.at < first + width)
    const sum = (field) => inside.reduce((total, slot) => total + slot[field], 0)
    const isInside = (at) => at >= first && at < first + width
    const own = known?.filter(({ at }) => isInside(Math.floor(at / SLOT) * SLOT))
    const times = timesIn(inside, own)
    return { start: first, runs: sum('runs'), failed: sum('failed'), ...times }
  })
  return { bars, length, width, end }
}

function inDay(times, day) {
  return times?.filter(({ at }) => new Date(at).toISOString().startsWith(day))
}

/** p50 and p95 (ms) of known times, else estimated from histograms; nothing without a run. */
function timesIn(histograms, known) {
  const counted = histograms.filter(({ durations }) => durations !== undefined)
  const all = counted.reduce(addDurations, noDurations())
  const durations = known?.map(({ ms }) => ms)
  const timeOf = (part) => (durations ? quantileOf(durations, part) : quantile(all, part))
  const p50 = timeOf(0.5)
  return p50 === undefined ? {} : { p50, p95: timeOf(0.95) }
}

/** An age such as `6h` in ms. Undefined for a time. */
function ageOf(since = '') {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(since) ?? []
  return unit && Number(number) * UNITS[unit]
}
