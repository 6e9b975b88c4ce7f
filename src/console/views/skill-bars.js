import { html } from '../lib/html.js'
import { took, tookAbout } from '../lib/parts.js'
import { count } from '../lib/troubles.js'

/** With more bars, not every bar has room for a label. */
const MAX_LABELS = 8
/** Where the axis of more bars has times besides its end, as parts of it. */
const TICKS = [0, 0.25, 0.5, 0.75]

/** The runs of a skill over time, and beside them how long they took. */
export function SkillBars({ of: { title, bars, last, unit, length, isExact } }) {
  const most = Math.max(1, ...bars.map(({ runs }) => runs))
  const longest = Math.max(1, ...bars.map(({ p95 = 0 }) => p95))
  const text = (ms) => tookAbout(ms, { isEstimated: !isExact })
  const runs = {
    title,
    about: `up to ${most.toLocaleString('en')}${length ? ` in ${length}` : ''}, failed ones in red`,
    axis: [most.toLocaleString('en'), most % 2 === 0 ? (most / 2).toLocaleString('en') : '', '0'],
    words: ({ runs, failed }) => `${count(runs, 'run')}, ${failed} failed`,
    labels: ({ runs }) => [runs.toLocaleString('en')],
    outer: ({ runs }) => runs / most,
    inner: ({ runs, failed }) => failed / Math.max(1, runs),
    color: 'bad',
  }
  const durations = {
    title: html`<b class="part of-p50"></b> p50 and <b class="part of-p95"></b> p95 ${unit}`,
    name: `p50 and p95 ${unit}`,
    about: isExact ? '' : 'estimated',
    axis: axisOf(longest),
    words: ({ p50, p95 }) => (p50 === undefined ? 'no run' : `p50 ${text(p50)}, p95 ${text(p95)}`),
    // The title above says whether they are estimated.
    labels: ({ p50, p95 }) => (p50 === undefined ? ['–'] : [took(p50), took(p95)]),
    outer: ({ p95 = 0 }) => p95 / longest,
    inner: ({ p50 = 0, p95 = 1 }) => p50 / Math.max(1, p95),
    color: 'p50',
  }
  return html`<div class="bar-pair"><${Bars} of=${bars} last=${last} kind="runs" ...${runs} />
    ${bars.some(({ p95 }) => p95 !== undefined) && html`<${Bars} of=${bars} last=${last} kind="durations" ...${durations} />`}</div>`
}

/** The labels of the time axis; the middle one only if it differs from the others. */
function axisOf(longest) {
  const middle = took(longest / 2)
  return [took(longest), middle === took(longest) || middle === took(0) ? '' : middle, '0']
}

/**
 * A bar chart with an inner part in each bar. `outer`: the height of a bar; `inner`: that of its
 * part; both 0 to 1. Few bars have their values below.
 */
function Bars({ of, last, kind, title, name = title, about, axis, words, labels, outer, inner, color }) {
  const height = (share, least) => ({ height: `${share === 0 ? 0 : Math.max(least, 100 * share)}%` })
  const said = of.map((bar) => `${bar.name}: ${words(bar)}`)
  const busy = said.filter((_, at) => of[at].runs > 0).join('; ')
  const isFew = of.length <= MAX_LABELS
  return html`<figure class=${`bars days ${kind} ${isFew ? 'labelled' : ''}`} role="img" aria-label=${`${name}. ${busy}`}><span>${title} <span class="dim">${about}</span></span>
    <p class="dim y-axis">${axis.map((value, at) => html`<span key=${at}>${value}</span>`)}</p>
    <div>${of.map((bar, at) => html`<span key=${bar.name} title=${said[at]} style=${height(outer(bar), 3)}><span class=${color} style=${height(inner(bar), 0)}></span></span>`)}</div>
    ${
      isFew
        ? html`<p class="dim bar-labels">${of.map((bar) => html`<span key=${bar.name}>${[dayIn(bar.name), ...(bar.runs === 0 ? ['–'] : labels(bar))].map((line, at) => html`${at > 0 && html`<br />`}${line}`)}</span>`)}</p>`
        : html`<p class="dim x-axis">${TICKS.map((part) => html`<span key=${part}>${of[Math.round(part * of.length)].name}</span>`)}<span>${last}</span></p>`
    }</figure>`
}

/** `2026-11-29` as `29 Nov`. A time of day stays as it is. */
function dayIn(name) {
  return /^\d{4}-/.test(name)
    ? new Date(name).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    : name
}
