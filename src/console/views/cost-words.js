import { html } from '../lib/html.js'
import { money } from '../lib/money.js'

const DAY = 86_400_000

/** `22 to 28 Nov` for the first and the last day, or `20:35 to 21:42 UTC` for two times. */
export function rangeIn(from, to) {
  if (!from.includes('T')) {
    if (from === to) return dayIn(from)
    return `${from.slice(0, 7) === to.slice(0, 7) ? Number(from.slice(8)) : dayIn(from)} to ${dayIn(to)}`
  }
  const clock = (time) => time.slice(11, 16)
  return from.slice(0, 10) === to.slice(0, 10)
    ? `${clock(from)} to ${clock(to)} UTC`
    : `${dayIn(from)} ${clock(from)} to ${dayIn(to)} ${clock(to)} UTC`
}

/** The same with the year, for a caption. `to` is the end of the time. */
export function wholeRange(from, to) {
  const year = to.slice(0, 4)
  if (!from.includes('T')) return from === to ? `${dayIn(to)} ${year} (UTC)` : daysIn(from, to)
  const clock = (time) => time.slice(11, 16)
  return from.slice(0, 10) === to.slice(0, 10)
    ? `${dayIn(to)} ${year}, ${clock(from)} to ${clock(to)} (UTC)`
    : `${dayIn(from)} ${clock(from)} to ${dayIn(to)} ${year} ${clock(to)} (UTC)`
}

function daysIn(from, to) {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY) + 1
  return `${dayIn(from)} to ${dayIn(to)} ${to.slice(0, 4)}, ${count} days (UTC)`
}

/** `28 Nov` of `2026-11-28`. */
export function dayIn(name) {
  return new Date(name).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

/** The basis for comparing rows: money if all have a price, else tokens. */
export function measureOf(rows) {
  if (rows.every(({ money, unpriced }) => money !== undefined && !unpriced)) return ({ money }) => money
  return ({ inputTokens, outputTokens }) => inputTokens + outputTokens
}

export function amountOf(row, currency) {
  if (row.money === undefined) return 'no price'
  return html`${money(row.money, currency)}${row.unpriced > 0 && html`<span class="dim" title="and tokens without a price"> + ?</span>`}`
}
