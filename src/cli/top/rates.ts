import { type JsonObject, jsonObjectSchema, pathGet } from '../../core/json.ts'
import { paint } from '../../lib/paint.ts'
import { spanOf } from './rows.ts'

const RATES = ['accepted', 'done', 'failed', 'sent', 'refused'] as const
const BARS = ' ▁▂▃▄▅▆▇█'
/** Limits of the width of a curve, in characters. */
const MIN_BAR = 8
const MAX_BAR = 60
/** Width of the name, the rate and the maximum before a curve. */
const WIDTH_BEFORE_BAR = 32

/**
 * The rates per second with their maximum and their curve, below a line with the time that the
 * curves cover. The top of each curve is its own maximum.
 */
export function rateLines(now: JsonObject, points: readonly JsonObject[], width: number): string[] {
  const rates = jsonObjectSchema.parse(now.rates ?? {})
  const barWidth = Math.max(MIN_BAR, Math.min(MAX_BAR, width - WIDTH_BEFORE_BAR))
  const lines = RATES.map((name) => {
    const values = points.map((point) => Number(pathGet(point, name) ?? 0))
    const highest = Math.max(Number(rates[name] ?? 0), ...values, 0)
    const numbers = `${rateText(rates[name])}${rateText(highest)}`
    return `${name.padEnd(10)}${numbers}  ${curve(values, highest, barWidth)}`
  })
  const head = `${'rates'.padEnd(10)}${'now'.padStart(10)}${'max'.padStart(10)}  ${spanOf(points, now.at)}`
  return [paint('bold', head), ...lines]
}

function rateText(rate: unknown): string {
  const value = Number(rate ?? 0)
  return `${value < 10 ? Number(value.toFixed(2)) : Math.round(value)}/s`.padStart(10)
}

/** A line of bars, the newest on the right. Each column shows the maximum of its points. */
function curve(values: readonly number[], highest: number, width: number): string {
  const pointsPerColumn = Math.max(1, Math.ceil(values.length / width))
  const columns = Array.from({ length: Math.ceil(values.length / pointsPerColumn) }, (_, index) =>
    Math.max(...values.slice(index * pointsPerColumn, (index + 1) * pointsPerColumn)),
  )
  const heightOf = (value: number) => (highest > 0 ? Math.ceil((value / highest) * (BARS.length - 1)) : 0)
  return columns.map((value) => BARS[heightOf(value)]).join('')
}
