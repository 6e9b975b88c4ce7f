import { call } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, Badge, useLoaded, Wait, Words } from '../lib/parts.js'
import { Pause, untilOf } from '../lib/pause.js'
import { useRouteStates } from '../lib/route-state.js'
import { isHint, warningsOf } from '../lib/route-warnings.js'
import { link } from '../lib/router.js'
import { count, withLocalTimes } from '../lib/troubles.js'

/** The routes in the order in which they are tried. */
export function RoutesPage({ query: { show } }) {
  const { at = 0, ok } = now.value?.configuration ?? {}
  const loaded = useLoaded((signal) => call('GET', '/v1/configuration', undefined, signal), [at, ok])
  const { value } = loaded
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Routes</h1></header>
    <${Wait} of=${loaded} what="the routes" />
    ${value && html`<${RouteTable} configuration=${value} label="All routes" isOpen=${show === 'skills'} />`}
  </section>`
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The span of a count: `last day`, or the start of the daemon that counts, if that is later. */
function spanWords(ms, since) {
  if (Date.now() - since >= ms) return ms === HOUR ? 'last hour' : 'last day'
  return `since ${new Date(since).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`
}

/** The routes in order, with their message counts. */
export function RouteTable({ configuration, label = 'Routes', isOpen = false }) {
  const { routes = [], countedSince: since } = configuration
  if (routes.length === 0) return html`<p class="dim">There are no routes.</p>`
  // Skills have many routes, and most are unused.
  const isShown = ({ name, day }) => !name.includes('@') || day > 0
  const others = routes.filter((route) => !isShown(route))
  return html`<p class="dim">The first that matches takes a message. Counted by this daemon, which has run for <${Age} at=${since} />.</p>
    <${RouteRows} label=${label} routes=${routes.filter(isShown)} configuration=${configuration} />
    ${others.length > 0 && html`<details open=${isOpen}><summary>${count(others.length, 'route')} of skills that took nothing</summary><${RouteRows} label="Routes of skills" routes=${others} configuration=${configuration} /></details>`}`
}

function RouteRows({ label, routes, configuration }) {
  const { countedSince: since } = configuration
  const hours = spanWords(HOUR, since)
  const days = spanWords(DAY, since)
  // In the first hour of a daemon, both counts are the same.
  const hasHours = hours !== days
  const stateOf = useRouteStates(routes)
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${label}><table class="route-table">
    <thead><tr><th scope="col">route</th><th scope="col">matches</th><th scope="col">goes to</th>${hasHours && html`<th scope="col" class="number">${hours}</th>`}<th scope="col" class="number">${days}</th><th scope="col">last</th><th scope="col">state</th><th scope="col"><span class="unseen">Pause</span></th></tr></thead>
    <tbody>${routes.map(
      ({ name, match, skill, queue, bolt, hour, day, lastAt }, at) => html`<tr key=${name}>
        <td><a data-row href=${link(['configuration', name])}>${name}</a></td><td class="matches"><code title=${wordsOf(match)}>${wordsOf(match)}</code></td>
        <td>${skill ? html`<a href=${link(['skills', skill])}>${skill}</a>` : queue ? `queue ${queue}` : bolt ? `app ${bolt}` : 'nothing'}</td>
        ${hasHours && html`<td class="number" data-label=${hours}>${hour.toLocaleString('en')}</td>`}<td class="number" data-label=${days}>${day.toLocaleString('en')}</td>
        <td data-label=${lastAt ? 'last' : undefined}>${lastAt ? html`<${Age} at=${lastAt} />` : ''}</td>
        <td class="states"><${State} name=${name} of=${stateOf(routes[at])} warnings=${warningsOf(name, configuration)} /></td>
        <td class="row-actions"><${Pause} kind="route" of=${{ route: name }} name=${name} isSmall /></td></tr>`,
    )}</tbody></table></div>`
}

/** What holds messages of a route, how many wait or are tried again, and its dead letters. */
function State({ name, of: { pauses, waiting, approvals, retried, running, faults, dead }, warnings }) {
  return html`${pauses.map((pause) => html`<${PausedState} key=${pause.kind} of=${pause} />`)}
    ${waiting > 0 && html`<a href=${link('messages', { route: name, outcome: 'waiting' })}>${waiting.toLocaleString('en')} ${waiting === 1 ? 'waits' : 'wait'}</a> `}
    ${faults.map((fault) => html`<${GatewayFault} key=${`${fault.gateway} ${fault.code} ${fault.why}`} of=${fault} /> `)}
    ${running.length > 0 && html`<${RunningLink} of=${running} route=${name} /> `}
    ${approvals > 0 && html`<a href=${link('messages', { route: name, outcome: 'approval' })}>${count(approvals, 'approval')} ${approvals === 1 ? 'waits' : 'wait'}</a> `}
    ${retried > 0 && html`<a href=${link('messages', { route: name, outcome: 'retrying' })}>${retried.toLocaleString('en')} tried again</a> `}
    ${dead > 0 && html`<a class="error" href=${link('dead-letters', { group: name })}>${count(dead, 'dead letter')}</a>`}
    ${warnings.map((text) => (isHint(text) ? html`<p key=${text} class="route-hint"><a href=${link(['configuration', name])} title=${text}>takes words of the assistant</a></p>` : html`<p key=${text} class="route-warning"><${Words} text=${text} /></p>`))}`
}

/** What is paused, until when, by whom and why. */
function PausedState({ of: pause }) {
  const { kind, name, until, by, reason } = pause
  const text = [authorOf(by), reason].filter(Boolean).join(': ')
  return html`<${Badge} kind="warn">${kind === 'route' ? 'paused' : `${kind} ${name} paused`}${until !== undefined && ` ${untilOf(pause)}`}<//> ${text && html`<span class="pause-reason" title=${text}>by ${text}</span> `}`
}

/** What is wrong with a gateway, for how long, and why. The whole text is on its page. */
function GatewayFault({ of: { gateway, what, why, since, severity, text = why } }) {
  return html`<span class="gateway-fault" title=${withLocalTimes(text)}><a class=${severity === 'error' ? 'error' : ''} href=${link(['gateways', gateway])}>${gateway} ${what}</a>${since !== undefined && html` for <${Age} at=${since} />`}${why && html`: <span class="dim">${withLocalTimes(why)}</span>`}</span>`
}

/** How many attempts run, and for how long the longest has run. */
function RunningLink({ of: running, route }) {
  const [{ id, since }] = running
  const to = running.length === 1 ? link(['messages', id]) : link('messages', { route, outcome: 'running' })
  return html`<a href=${to}>${running.length.toLocaleString('en')} running for <${Age} at=${since} /></a>`
}

function wordsOf(match = {}) {
  if (Object.keys(match).length === 0) return 'everything'
  return Object.entries(match)
    .map(([key, value]) => `${key}: ${[value].flat().map(wordOf).join(' or ')}`)
    .join(', ')
}

function wordOf(value) {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
