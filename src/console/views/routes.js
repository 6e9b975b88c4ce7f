import { call } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { useFirstRow } from '../lib/first-row.js'
import { frozenLink } from '../lib/frozen-link.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { percent } from '../lib/money.js'
import { Age, Badge, CopyLink, dateTime, Empty, useLoaded, Wait, Words } from '../lib/parts.js'
import { Pause, untilOf } from '../lib/pause.js'
import { Range } from '../lib/range.js'
import { useRouteCounts } from '../lib/route-counts.js'
import { useRouteStates } from '../lib/route-state.js'
import { isHint, warningsOf } from '../lib/route-warnings.js'
import { link, replace } from '../lib/router.js'
import { SearchField } from '../lib/search-field.js'
import { count, withLocalTimes } from '../lib/troubles.js'
import { UsedUpState, usedUpOf } from '../lib/used-up.js'
import { RoutePage } from './route.js'

/** The routes in the order in which they are tried, or one of them. */
export function RoutesPage({ path: [name], query }) {
  return name === undefined
    ? html`<${AllRoutes} query=${query} />`
    : html`<${RoutePage} key=${name} name=${name} query=${query} />`
}

function AllRoutes({ query }) {
  const { at = 0, ok } = now.value?.configuration ?? {}
  const loaded = useLoaded((signal) => call('GET', '/v1/configuration', undefined, signal), [at, ok])
  const { value } = loaded
  const { search: wanted = '' } = query
  const set = (change) => replace('routes', { ...query, ...change })
  const { box, toRows } = useFirstRow(value?.routes.some((route) => fits(route, wanted)))
  return html`<section ref=${box} class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Routes</h1>
      <${SearchField} label="Search routes" placeholder="Search  /" value=${wanted} set=${(search) => set({ search })} toRows=${toRows} /></header>
    <${Wait} of=${loaded} what="the routes" />
    ${value && html`<${RouteTable} configuration=${value} query=${query} set=${set} label="All routes" wanted=${wanted}><${CopyLink} to=${() => frozenLink()} /><//>`}
  </section>`
}

/** The range without one in the address. */
const NORMAL = '24h'
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'

/**
 * The routes in order, with their messages of a range. `set` changes the range in the address.
 * `children` are beside the range.
 */
export function RouteTable({ configuration, query, set, label = 'Routes', wanted = '', children }) {
  const { routes: all = [] } = configuration
  const { since = NORMAL, until = '', sort = '' } = query
  const range = { since, ...(until && { until }) }
  const counts = useRouteCounts({ since, until })
  if (all.length === 0) return html`<p class="dim">There are no routes.</p>`
  const routes = all.filter((route) => fits(route, wanted))
  if (routes.length === 0) return html`<${Empty} title="No route matches." />`
  // Skills have many routes, and most are unused.
  const isShown = ({ name, day }) => !name.includes('@') || day > 0 || counts?.arrived?.[name] > 0
  const others = routes.filter((route) => !isShown(route))
  const shared = { configuration, counts, range, sort, set }
  return html`<div class="bar"><p class="dim">The first that matches takes a message.</p><div class="filter"><${Range} query=${query} set=${set} normal=${NORMAL} />${children}</div></div>
    ${counts?.error && html`<p class="problem">The messages could not be counted: ${counts.error.message} Trying again.</p>`}
    <${RouteRows} label=${label} routes=${routes.filter(isShown)} ...${shared} />
    ${counts?.countedTo > 0 && html`<p class="dim">Messages before ${dateTime(counts.countedTo)} are not counted.</p>`}
    ${others.length > 0 && html`<details open=${wanted !== ''}><summary>${count(others.length, 'route')} of skills that took nothing</summary><${RouteRows} label="Routes of skills" routes=${others} ...${shared} /></details>`}`
}

/** Whether a route has all the words in its name, its target or what it matches. */
function fits({ name, match, skill, queue, bolt }, wanted) {
  const text = [name, skill, queue, bolt, wordsOf(match)].join(' ').toLowerCase()
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Columns that routes can be sorted by, highest first. `of`: the value of a route. */
const SORTED = {
  arrived: ({ arrived }, name) => arrived?.[name],
  failed: ({ failed }, name) => failed?.[name],
  attempts: ({ attempts }, name) => attempts?.[name]?.failed,
  last: ({ last }, name) => last?.[name],
}

function RouteRows({ label, routes, configuration, counts, range, sort, set }) {
  const stateOf = useRouteStates(routes)
  const of = SORTED[sort]
  const rows = of
    ? routes.toSorted((a, b) => (of(counts ?? {}, b.name) ?? -1) - (of(counts ?? {}, a.name) ?? -1))
    : routes
  const head = (key, title, isNumber) =>
    html`<th scope="col" class=${isNumber ? 'number' : ''} aria-sort=${key === sort ? 'descending' : undefined}><button type="button" class="sorts" title=${key === sort ? 'Back to the order in which they are tried' : undefined} onClick=${() => set({ sort: key === sort ? '' : key })}>${title}${key === sort ? ' ↓' : ''}</button></th>`
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${label}><table class="route-table">
    <thead><tr><th scope="col">route</th><th scope="col">matches</th><th scope="col">goes to</th>${head('arrived', 'arrived', true)}${head('failed', 'of these failed', true)}${head('attempts', 'failed attempts', true)}${head('last', 'last')}<th scope="col">state</th><th scope="col"><span class="unseen">Pause</span></th></tr></thead>
    <tbody>${rows.map(
      ({ name, match, skill, queue, bolt }, at) => html`<tr key=${name}>
        <td><a data-row href=${link(['routes', name], range.since === NORMAL && !range.until ? {} : range)}>${name}</a></td><td class="matches"><code title=${wordsOf(match)}>${wordsOf(match)}</code></td>
        <td>${skill ? html`<a href=${link(['skills', skill])}>${skill}</a>` : queue ? `queue ${queue}` : bolt ? `app ${bolt}` : 'nothing'}</td>
        <${Numbers} route=${name} skill=${skill} counts=${counts} range=${range} />
        <td class="states"><${State} name=${name} skill=${skill} of=${stateOf(rows[at])} undelivered=${counts?.undelivered?.[name]} range=${range} warnings=${warningsOf(name, configuration)} /></td>
        <td class="row-actions"><${Pause} kind="route" of=${{ route: name }} name=${name} isSmall /></td></tr>`,
    )}</tbody></table></div>`
}

/** The messages of a route in the range, those that failed, its failed attempts, and its last message. */
function Numbers({ route, skill, counts = {}, range }) {
  const { arrived, failed, attempts, last, error } = counts
  const unknown = error ? '' : html`<span class="dim">…</span>`
  const many = arrived?.[route] ?? 0
  const bad = failed?.[route] ?? 0
  const tried = attempts?.[route]
  const list = (text, outcome) =>
    html`<a class=${outcome ? 'error' : ''} href=${link('messages', { route, ...range, ...(outcome && { outcome }) })}>${text}</a>`
  const share = (part, of) =>
    html` <span class="share-of">(${percent(Math.min(1, part / Math.max(1, of)))})</span>`
  const runs = () =>
    html`<a class="error" href=${link(['skills', skill], { ...range, outcome: 'failed', by: `route ${route}` })}>${tried.failed.toLocaleString('en')}${share(tried.failed, tried.runs)}</a>`
  return html`<td class="number" data-label="arrived">${arrived ? (many === 0 ? '0' : list(many.toLocaleString('en'))) : unknown}</td>
    <td class="number" data-label="of these failed">${failed ? (bad === 0 ? '0' : list(html`${bad.toLocaleString('en')}${share(bad, many)}`, FAILED)) : unknown}</td>
    <td class="number" data-label="failed attempts">${!attempts ? unknown : skill ? (tried?.failed > 0 ? runs() : '0') : ''}</td>
    <td data-label=${last?.[route] ? 'last' : undefined}>${last?.[route] ? html`<${Age} at=${last[route]} />` : ''}</td>`
}

/**
 * What holds messages of a route, how many wait or are tried again, its dead letters, and its replies
 * that were not delivered, which count as failed.
 */
function State({
  name,
  skill,
  of: { pauses, waiting, forBudget, approvals, retried, running, faults, dead },
  undelivered,
  range,
  warnings,
}) {
  return html`${pauses.map((pause) => html`<${PausedState} key=${pause.kind} of=${pause} />`)}
    <${UsedUpState} skill=${skill} of=${{ kind: 'route', name }} />
    ${forBudget > 0 && !usedUpOf(skill) && html`<${Badge} kind="warn"><a href=${link('messages', { route: name, outcome: 'waiting' })}>${forBudget.toLocaleString('en')} ${forBudget === 1 ? 'waits' : 'wait'} for a budget</a><//> `}
    ${waiting > 0 && !usedUpOf(skill) && html`<a href=${link('messages', { route: name, outcome: 'waiting' })}>${waiting.toLocaleString('en')} ${waiting === 1 ? 'waits' : 'wait'}</a> `}
    ${faults.map((fault) => html`<${GatewayFault} key=${`${fault.gateway} ${fault.code} ${fault.why}`} of=${fault} /> `)}
    ${running.length > 0 && html`<${RunningLink} of=${running} route=${name} /> `}
    ${approvals > 0 && html`<a href=${link('messages', { route: name, outcome: 'approval' })}>${count(approvals, 'approval')} ${approvals === 1 ? 'waits' : 'wait'}</a> `}
    ${retried > 0 && html`<a href=${link('messages', { route: name, outcome: 'retrying' })}>${retried.toLocaleString('en')} tried again</a> `}
    ${dead > 0 && html`<a class="error" href=${link('dead-letters', { group: name })}>${count(dead, 'dead letter')}</a> `}
    ${undelivered > 0 && html`<a class="error" href=${link('messages', { route: name, ...range, outcome: 'undelivered' })}>${undelivered.toLocaleString('en')} ${undelivered === 1 ? 'reply' : 'replies'} not delivered</a>`}
    ${warnings.map((text) => (isHint(text) ? html`<p key=${text} class="route-hint"><a href=${link(['routes', name])} title=${text}>takes words of the assistant</a></p>` : html`<p key=${text} class="route-warning"><${Words} text=${text} /></p>`))}`
}

/** What is paused, until when, by whom and why. */
function PausedState({ of: pause }) {
  const { kind, name, until, by, reason, changedBy } = pause
  const changed = changedBy === undefined ? '' : ` (changed by ${authorOf(changedBy)})`
  const text = `${[authorOf(by), reason].filter(Boolean).join(': ')}${changed}`
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
