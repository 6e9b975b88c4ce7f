import { useState } from 'preact/hooks'
import { heldText } from '../../lib/held-text.ts'
import { Chart } from '../lib/chart.js'
import { html } from '../lib/html.js'
import { later } from '../lib/later-file.js'
import { clock, isNarrow, now, points } from '../lib/live.js'
import { Age, act, CopyLink, Loading, Moment, took, Words } from '../lib/parts.js'
import { RANGES, Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { TroubleAction } from '../lib/trouble-action.js'
import { placeOf, withLocalTimes, withoutCommands } from '../lib/troubles.js'

const PastCharts = later.part('PastCharts')
const ProofOfCause = later.part('ProofOfCause')
const Retries = later.part('Retries')
const Roads = later.part('Roads')
const TakenTroubles = later.part('TakenTroubles')

const RATES = [
  { name: 'accepted', color: 'accent', of: (point) => point.accepted },
  { name: 'done', color: 'good', of: (point) => point.done },
  { name: 'failed', color: 'bad', of: (point) => point.failed },
]
const LATENCY = [
  { name: 'p50', color: 'accent', of: (point) => point.latency?.p50 },
  { name: 'p95', color: 'warn', of: (point) => point.latency?.p95 },
]
/** Intervals (s) of the labels of latencies, in whole units. */
const LATENCY_STEPS = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30],
  ...[60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800],
]
const DEPTH = [
  { name: 'waiting', color: 'warn', of: (point) => point.waiting },
  { name: 'running', color: 'accent', of: (point) => point.running },
  { name: 'to send', color: 'good', of: (point) => point.outbox },
]

/** Problems first, then the traffic. */
export function NowPage({ query }) {
  const { since = '', until = '' } = query
  const set = (change) => replace('now', { ...query, ...change })
  const isLive = until === '' && (since === '' || since === '15m')
  const RangeCharts = isLive ? LiveCharts : PastCharts
  return html`<section class="page now" aria-labelledby="title">
    <header class="bar"><h1 id="title">Now</h1><${Restarted} /></header>
    <div class="now-grid">
      <${Troubles} />
      <${Calm} title="Charts and roads"><div class="charts">
        <div class="filter"><${Range} query=${query} set=${set} ranges=${RANGES} normal="1h" /><${CopyLink} /></div>
        <${RangeCharts} Charts=${Charts} since=${since} until=${until} />
        <div class="roads-now"><${Roads} /></div>
      </div><//>
    </div>
  </section>`
}

/** Information that needs no action. It is folded on a phone. */
function Calm({ title, children }) {
  const [isOpen, setOpen] = useState(false)
  if (!isNarrow.value) return children
  return html`<details class="calm" open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}><summary>${title}</summary>${isOpen && children}</details>`
}

const MINUTE = 60_000
/** How long (ms) a start of the daemon is shown. */
const RECENT = 86_400_000

/** A recent start explains why counts and charts of this daemon begin then. */
function Restarted() {
  const { startedAt: at } = now.value ?? {}
  if (at === undefined || clock.value - at > RECENT) return null
  return html`<p class="dim restarted">Daemon started <${Moment} at=${at} /> (<${Age} at=${at} /> ago)</p>`
}

/** The charts of the last hour, or of its end, from the stream. */
function LiveCharts({ since }) {
  const minutes = since === '15m' ? 15 : 60
  const name = since === '15m' ? 'the last 15 minutes' : 'the last hour'
  const span = { since: minutes * MINUTE, name, isWhole: since === '15m' }
  return html`<${Charts} points=${points.value} span=${span} />`
}

function Charts({ points, span, every }) {
  const all = { points, span, every, first: points[0]?.at }
  return html`<${Chart} title="Messages a second" ...${all} lines=${RATES} show=${rate} least=${1} />
    <${Chart} title="From acceptance to the skill" ...${all} lines=${LATENCY} show=${(seconds) => took(seconds * 1000)} least=${0.02} steps=${LATENCY_STEPS} />
    <${Chart} title=${onTheWay()} ...${all} lines=${DEPTH} show=${amount} least=${4} />`
}

/** The waiting messages of the chart include those that pauses hold. */
function onTheWay() {
  const { held } = now.value?.roads?.find(({ road }) => road === 'dispatch') ?? {}
  return ['On the way', heldText(held)].filter(Boolean).join(', ')
}

/** Its space is reserved, so that nothing moves when a trouble appears or disappears. */
function Troubles() {
  const found = now.value?.troubles ?? []
  const open = found.filter(({ acknowledged }) => !acknowledged)
  const taken = found.filter(({ acknowledged }) => acknowledged)
  return html`<section class="troubles" aria-label="What is wrong" tabindex="0">
    ${now.value === undefined && html`<${Loading} />`}
    <${Retries} since="1h" limit=${2} />
    ${
      now.value !== undefined &&
      open.length === 0 &&
      html`<div class="well">${taken.length > 0 ? html`<p><b>Every problem is taken care of.</b></p>` : html`<p><b>All is well.</b></p><p class="dim">Gateways and pushes work, nothing is dead, nothing waits for you.</p>`}</div>`
    }
    <${Part} title="Waits for you" of=${open.filter(waitsForPerson)} />
    <${Part} title="Failing" order="outages first, then most people" of=${open.filter(fails)} />
    <${CalmPart} title="Recovering" of=${open.filter(recovers)} />
    <${CalmPart} title="Paused" of=${open.filter((one) => !waitsForPerson(one) && !fails(one) && !recovers(one))} />
    <${TakenTroubles} troubles=${taken} />
  </section>`
}

/** People who wait for an answer or a decision: no machine goes on without somebody. */
const waitsForPerson = ({ code }) => code === 'unanswered' || code === 'approval-waiting'

const fails = (trouble) => !waitsForPerson(trouble) && trouble.severity !== 'info'

/** Gateways that refused deliveries, and accept them again or were changed. */
const recovers = ({ code, severity }) => code === 'refusals' && severity === 'info'

/** The troubles of one kind, under a title. `order`: theirs, in words. */
function Part({ title, order, of }) {
  if (of.length === 0) return null
  return html`<h2 class="part">${title}${order && of.length > 1 && html` <small>${order}</small>`}</h2><ul aria-label=${title}>${of.map((trouble) => html`<${TroubleItem} key=${trouble.key} trouble=${trouble} />`)}</ul>`
}

function CalmPart({ title, of }) {
  return (
    of.length > 0 && html`<${Calm} title=${`${title} ${of.length}`}><${Part} title=${title} of=${of} /><//>`
  )
}

/** What to do, unless the action says it. */
function todoOf({ code, todo, where }) {
  const isSaid = waitsForPerson({ code }) || (code === 'dead-letters' && where.queue === 'dispatch')
  return isSaid ? '' : withoutCommands(withLocalTimes(todo))
}

function TroubleItem({ trouble }) {
  const { severity, title, since } = trouble
  const text = withLocalTimes(trouble.text)
  const todo = todoOf(trouble)
  const { path, query } = placeOf(trouble)
  const isOneCause = trouble.code === 'dead-letters' && query.pattern !== undefined
  return html`<li class=${`trouble ${{ error: 'bad', warning: 'warn', info: '' }[severity]}`}>
    <p class="trouble-head"><a data-row href=${link(path, query)}>${title}</a><span class="since">${since && html`for <${Age} at=${since} /> `}<button changes type="button" class="small have-it" aria-label=${`I have it: ${title}`} onClick=${() => act(async () => (await later.fetch()).takeTrouble(trouble))}>I have it</button></span></p>
    <p class="trouble-text" title=${text}>${text}</p>
    <div class="todo"><span class="words" title=${todo.replaceAll('`', '')}>${todo ? html`<${Words} text=${todo} />` : isOneCause && html`<${ProofOfCause} of=${query} change=${`${trouble.count} ${trouble.since} ${text}`} />`}</span> <${TroubleAction} trouble=${trouble} /></div></li>`
}

function rate(value) {
  return value >= 100 ? amount(value) : String(Number(value.toFixed(value >= 10 ? 1 : 2)))
}

export function amount(value) {
  return Number.isInteger(value) || value >= 10
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toFixed(2)))
}
