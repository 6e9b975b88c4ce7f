import { Chart } from '../lib/chart.js'
import { html } from '../lib/html.js'
import { now, points } from '../lib/live.js'
import { Age, Badge, took, Words } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { placeOf } from '../lib/troubles.js'

const RATES = [
  { name: 'accepted', color: 'accent', of: (point) => point.accepted },
  { name: 'done', color: 'good', of: (point) => point.done },
  { name: 'failed', color: 'bad', of: (point) => point.failed },
]
const LATENCY = [
  { name: 'p50', color: 'accent', of: (point) => point.latency?.p50 },
  { name: 'p95', color: 'warn', of: (point) => point.latency?.p95 },
]
const DEPTH = [
  { name: 'waiting', color: 'warn', of: (point) => point.waiting },
  { name: 'running', color: 'accent', of: (point) => point.running },
  { name: 'to send', color: 'good', of: (point) => point.outbox },
]

/** What is wrong first; then what goes through. */
export function NowPage() {
  return html`<section class="page now" aria-labelledby="title">
    <header class="bar"><h1 id="title">Now</h1></header>
    <div class="now-grid">
      <${Troubles} />
      <div class="charts">
        <${Chart} title="Messages a second" points=${points.value} lines=${RATES} show=${rate} least=${1} />
        <${Chart} title="From acceptance to the skill" points=${points.value} lines=${LATENCY} show=${(seconds) => took(seconds * 1000)} least=${0.02} />
        <${Chart} title="On the way" points=${points.value} lines=${DEPTH} show=${whole} least=${4} />
        <${Roads} />
      </div>
    </div>
  </section>`
}

/** Has a place of its own, so that a trouble that comes or goes moves nothing else. */
function Troubles() {
  const found = now.value?.troubles ?? []
  return html`<section class="troubles" aria-label="What is wrong" tabindex="0">
    ${now.value === undefined && html`<p class="dim">…</p>`}
    ${
      now.value !== undefined &&
      found.length === 0 &&
      html`<div class="well"><p><b>All is well.</b></p><p class="dim">Gateways and pushes work, nothing is dead, nothing waits for you.</p></div>`
    }
    <ul>${found.map((trouble) => html`<${TroubleItem} key=${trouble.key} trouble=${trouble} />`)}</ul>
  </section>`
}

function TroubleItem({ trouble }) {
  const { severity, title, text, todo, since } = trouble
  const { path, query } = placeOf(trouble)
  return html`<li class=${`trouble ${{ error: 'bad', warning: 'warn', info: '' }[severity]}`}>
    <a data-row href=${link(path, query)}>${title}</a>
    <p>${text}${since && html` <span class="since">For <${Age} at=${since} />.</span>`}</p>
    <p class="todo"><${Words} text=${todo} /></p></li>`
}

const ROADS = {
  journal: 'kept in the journal',
  dispatch: 'to be handled by skills',
  receive: 'not pulled (normal without workers)',
  outbox: 'to be sent',
}

function Roads() {
  const roads = now.value?.roads ?? []
  return html`<div class="roads-now"><table>
    <caption>Roads</caption>
    <thead><tr><th>road</th><th class="number">messages</th><th class="number">dead</th><th>oldest</th></tr></thead>
    <tbody>${roads.map(
      ({ road, messages, dead, oldestAt }) => html`<tr key=${road}>
        <td>${road} <span class="dim wide">${ROADS[road]}</span></td>
        <td class="number">${whole(messages)}</td>
        <td class="number">${dead > 0 ? html`<${Badge} kind="bad">${whole(dead)}<//>` : ''}</td>
        <td>${oldestAt && messages > 0 ? html`<${Age} at=${oldestAt} />` : ''}</td>
      </tr>`,
    )}</tbody>
  </table></div>`
}

function rate(value) {
  return value >= 100 ? whole(value) : String(Number(value.toFixed(value >= 10 ? 1 : 2)))
}

function whole(value) {
  return Number.isInteger(value) || value >= 10
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toFixed(2)))
}
