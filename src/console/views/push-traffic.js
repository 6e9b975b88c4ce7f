import { invoke } from '../lib/api.js'
import { Chart } from '../lib/chart.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, dateTime, span, took, useLoaded, Wait } from '../lib/parts.js'
import { RANGES, Range } from '../lib/range.js'
import { replace } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000
/** The time span without a choice. */
export const NORMAL = '1h'

const OUTCOMES = [
  { name: 'delivered', color: 'good', of: ({ delivered }) => delivered },
  { name: 'failed', color: 'bad', of: ({ failed }) => failed },
]
const LATENCY = [
  { name: 'p50', color: 'accent', of: ({ p50 }) => p50 },
  { name: 'p95', color: 'warn', of: ({ p95 }) => p95 },
]
/** Intervals (ms) of the labels of latencies, in whole units. */
const LATENCY_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000],
]
const NUMBER = (value) => Math.round(value).toLocaleString('en')

/** The attempts of a push in a time span: how many failed, why, and how long the receiver took. */
export function PushTraffic({ topic, name, query }) {
  const { since = '', until = '' } = query
  const range = { since: since || NORMAL, ...(until && { until }) }
  const loaded = useLoaded(
    (signal) => invoke('subscription-show', { name, limit: 1, ...range }, signal),
    [name, since, until, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { traffic } = loaded.value ?? {}
  const set = (change) => replace(['queues', topic, name], { ...query, ...change })
  const known = until === '' && RANGES.find(([each]) => each === range.since)?.[1]
  return html`<header class="bar"><h2>Attempts over time</h2><div class="filter"><${Range} query=${query} set=${set} normal=${NORMAL} /></div></header>
    ${loaded.error?.code !== 'subscription_not_found' && html`<${Wait} of=${loaded} what="the attempts" />`}
    ${traffic && html`<${Summary} of=${traffic} name=${known ? `in the ${known}` : 'in the chosen time'} /><${Charts} of=${traffic} name=${known || 'the chosen time'} />`}`
}

/** How many attempts failed, and why, most frequent first. */
function Summary({ of: { delivered, failed, causes, from, knownSince }, name }) {
  const all = delivered + failed
  const only = failed > 0 && failed === all && causes.length === 1 ? causes[0] : undefined
  const isShort = knownSince > from + 60_000
  return html`<p>${all === 0 ? html`<span class="dim">No attempt ${name}.</span>` : html`<b class=${failed > 0 ? 'error' : ''}>${failed === 0 ? 'None' : failed === all ? 'All' : NUMBER(failed)}</b> of ${count(all, 'attempt')} failed ${name}${only && html`: <span class="error">${only.text}</span>`}.${only && only.lastAt !== undefined && html` <span class="dim">Last <${Age} at=${only.lastAt} /> ago.</span>`}`}${isShort && html` <span class="dim">Counted since ${dateTime(knownSince)}.</span>`}</p>
    ${failed > 0 && !only && html`<ul class="plain failures" aria-label="Why attempts failed">${causes.map(({ count: many, text, lastAt }) => html`<li key=${text}><b>${NUMBER(many)} of ${NUMBER(all)}</b> <span class="error">${text}</span>${lastAt !== undefined && html` <span class="dim">last <${Age} at=${lastAt} /> ago</span>`}</li>`)}</ul>`}`
}

function Charts({ of: { points, from, to, every }, name }) {
  // The present interval is not over, so its numbers would look like a drop.
  const whole = points.filter(({ at }) => at + every <= to)
  const shown = whole.length > 1 ? whole : points
  const range = { since: from, until: to, name, isWhole: true }
  return html`<div class="charts pair">
    <${Chart} title=${`Attempts in ${span(every)}`} points=${shown} lines=${OUTCOMES} show=${NUMBER} least=${4} span=${range} every=${every} isCut=${false} />
    <${Chart} title="Time to the answer" points=${shown} lines=${LATENCY} show=${took} least=${20} steps=${LATENCY_STEPS} span=${range} every=${every} /></div>`
}
