import { clockOf } from './clock-of.js'
import { html } from './html.js'

const DAY = 86_400_000
/** Where the axis has times besides its end, as parts of it. */
const TICKS = [0, 0.25, 0.5, 0.75]

/** A bar chart of counts over time; the `bad` part of each bar is red. `choose` gets a bar. */
export function TimeBars({ of: { title, counts, bad, badWord }, from, width, countedTo = 0, choose }) {
  const most = Math.max(1, ...counts)
  const timeOf = (at) => timeIn(from + at * width, width)
  const words = (at) =>
    `${timeOf(at)} to ${timeOf(at + 1)}: ${amount(counts[at])}${badWord && bad[at] > 0 ? `, ${amount(bad[at])} ${badWord}` : ''}`
  const busy = counts.flatMap((many, at) => (many > 0 ? [words(at)] : []))
  if (busy.length === 0) return html`<p>${title} <span class="dim">none</span></p>`
  const height = (many) => ({ height: `${many === 0 ? 0 : Math.max(4, (100 * many) / most)}%` })
  const end = from + counts.length * width
  return html`<figure class="bars days" role="img" aria-label=${`${title} over time. ${busy.join('; ')}`}><span>${title} <span class="dim">up to ${amount(most)} in ${spanWords(width)}${badWord && sumOf(bad) > 0 ? `, ${badWord} ones in red` : ''}</span></span>
    <p class="dim y-axis"><span>${amount(most)}</span><span>${most % 2 === 0 ? amount(most / 2) : ''}</span><span>0</span></p>
    <div>${counts.map((many, at) => html`<span key=${at} class=${`slot ${choose && many > 0 ? 'is-link' : ''} ${from + at * width < countedTo ? 'uncounted' : ''}`} title=${words(at)} onClick=${choose && many > 0 ? () => choose(at) : undefined}><span style=${height(many)}>${bad[at] > 0 && html`<span class="bad" style=${{ height: `${(100 * Math.min(bad[at], many)) / Math.max(1, many)}%` }}></span>`}</span></span>`)}</div>
    <p class="dim x-axis">${TICKS.map((part) => html`<span key=${part}>${timeOf(Math.round(part * counts.length))}</span>`)}<span>${end >= Date.now() ? 'now' : timeIn(end, width)}</span></p></figure>`
}

export const sumOf = (counts) => counts.reduce((sum, many) => sum + many, 0)
export const amount = (many) => many.toLocaleString('en')

/** The time of a bar, with its day if the bars are long. */
function timeIn(ms, width) {
  if (width < DAY / 24) return clockOf(ms)
  const date = new Date(ms)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  return width >= DAY
    ? day
    : `${day} ${date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`
}

/** `a minute`, `10 minutes`, `2 hours`, `a day`. */
function spanWords(ms) {
  const [unit, length] = [
    ['day', DAY],
    ['hour', DAY / 24],
    ['minute', 60_000],
  ].find(([, size]) => ms >= size)
  const many = Math.round(ms / length)
  if (many === 1) return `${unit === 'hour' ? 'an' : 'a'} ${unit}`
  return `${many} ${unit}s`
}
