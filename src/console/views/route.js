import { call, invoke } from '../lib/api.js'
import { useAttempt } from '../lib/attempts.js'
import { Yaml } from '../lib/code.js'
import { ReloadOfDaemon } from '../lib/failed-reload.js'
import { html } from '../lib/html.js'
import { changes, clock, now } from '../lib/live.js'
import { MessageLink } from '../lib/message-link.js'
import { Age, Badge, Empty, Gist, Outcome, took, useLoaded, Wait, Words } from '../lib/parts.js'
import { CancelRun, Pause } from '../lib/pause.js'
import { PauseName, PauseNote, usePauses } from '../lib/pauses.js'
import { RetryRouteNow } from '../lib/retry-now.js'
import { gatewaysOf, useRouteStates } from '../lib/route-state.js'
import { isHint, warningsOf } from '../lib/route-warnings.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count, withLocalTimes, withoutCommands } from '../lib/troubles.js'
import { UsedUpNote, usedUpOf } from '../lib/used-up.js'
import { routeIn } from '../lib/yaml.js'
import { WaitForApproval } from './approval-waits.js'
import { RetriedMessages, RouteTraffic, RowError } from './route-traffic.js'

/** Number of messages that are shown. */
const MAX_MESSAGES = 15
/** Polling interval (ms) of the last messages. */
const POLL_INTERVAL = 10_000

/** One route: its lines in the configuration, its counts, last messages and pause. */
export function RoutePage({ name, query }) {
  const { at = 0 } = now.value?.configuration ?? {}
  const loaded = useLoaded((signal) => call('GET', '/v1/configuration', undefined, signal), [at])
  const { value } = loaded
  const route = value?.routes?.find((each) => each.name === name)
  const place = value?.files?.map((file) => ({ file, ...routeIn(file.yaml, name) })).find(({ text }) => text)
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="routes" />
    <${Wait} of=${loaded} what="the configuration" />
    ${value && !route && html`<h1 id="title">${name}</h1><${Empty} title="There is no route with this name."><a href=${link('routes')}>All routes</a><//>`}
    ${route && html`<${Shown} route=${route} query=${query} routes=${value.routes} place=${place} warnings=${warningsOf(name, value)} />`}
  </section>`
}

function Shown({ route, query, routes, place, warnings }) {
  const { name, skill } = route
  const lastAt = useLastOf(name)
  const [gateway] = gatewaysOf(route)
  const held = useHolds(name, skill)
  const { holds } = held
  const isHeld = holds.length > 0 || usedUpOf(skill) !== undefined
  const isHeldElsewhere = holds.some(({ kind }) => ENDED_HERE.has(kind))
  const taken = holds.filter(({ kind }) => kind === 'conversation')
  const { approvals, forBudget, retried, running, faults, dead } = useRouteStates(routes)(route)
  return html`<header class="bar"><h1 id="title">${name} <${Badge}>route<//></h1>
      <div class="buttons"><${Pause} of=${{ route: name }} kind="route" name=${name} words=${isHeldElsewhere ? ['Pause the route', 'Resume the route'] : undefined} /><a class="button" href=${link('messages', { route: name })}>Its messages</a><a class="button" href=${link('messages', { route: name, outcome: FAILED_OUTCOMES })}>Its failed messages</a><a class="button" href=${link('dead-letters', { group: name })}>Its dead letters</a><a class="button" href=${link('compose', gateway ? { gateway } : {})}>Test …</a></div></header>
    <${ReloadOfDaemon} />
    ${holds.map(
      (pause) =>
        html`<${PauseNote} key=${`${pause.kind} ${pause.name}`} of=${pause} what=${pause.kind === 'route' ? undefined : html`<${PauseName} of=${pause} />`}><${EndPause} of=${pause} /><//>`,
    )}
    <${UsedUpNote} skill=${skill} of=${{ kind: 'route', name }} />
    ${forBudget > 0 && !usedUpOf(skill) && html`<p class="now-it warn"><a href=${link('messages', { route: name, outcome: 'waiting' })}>${count(forBudget, 'message')}</a> ${forBudget === 1 ? 'waits' : 'wait'} for a <a href=${link('cost')}>budget</a>, such as that of the sender.</p>`}
    ${taken.length > 0 && taken.length === holds.length && html`<p class="dim">Only ${taken.length === 1 ? 'this conversation is' : `these ${taken.length} conversations are`} held. The route handles all others.</p>`}
    ${running.length > 0 && html`<${LongRun} of=${running} route=${name} />`}
    ${approvals > 0 && html`<p class="now-it warn"><${WaitForApproval} route=${name} many=${approvals} />.</p>`}
    ${faults.map((fault) => html`<${GatewayFault} key=${`${fault.gateway} ${fault.code} ${fault.why}`} of=${fault} />`)}
    ${retried > 0 && html`<p class="now-it warn"><a href=${link('messages', { route: name, outcome: 'retrying' })}>${count(retried, 'message')}</a> ${retried === 1 ? 'is' : 'are'} tried again after a failed attempt.<${RetryRouteNow} route=${name} many=${retried} /></p>`}
    ${warnings.map((text) => html`<p key=${text} class=${isHint(text) ? 'dim' : 'now-it warn'}><${Words} text=${text} /></p>`)}
    <p>Its messages go to <${Target} of=${route} />. ${lastAt ? html`The last one arrived <${Age} at=${lastAt} /> ago. ` : ''}<${RoutesBefore} of=${route} routes=${routes} /></p>
    ${retried > 0 && html`<${RetriedMessages} route=${name} />`}
    <${RouteTraffic} name=${name} skill=${skill} query=${query} dead=${dead} running=${running.length} />
    ${isHeld && html`<${WaitingMessages} route=${name} ...${held} />`}
    ${place ? html`<h2>In ${place.file.file}, line ${place.line}</h2><${Yaml} text=${place.text} first=${place.line} label=${`The route ${name}`} />` : html`<p class="dim">It comes from the skill${skill ? ` ${skill}` : ''}, not from routes.yaml.</p>`}
    <${LastMessages} route=${name} isPaused=${isHeld} />`
}

/** When the last message of a route arrived (Unix ms). */
function useLastOf(name) {
  const { value = [] } = useLoaded(
    (signal) => invoke('route-list', { last: true }, signal),
    [name, Math.floor(clock.value / POLL_INTERVAL)],
  )
  return value.find((each) => each.name === name)?.lastAt
}

/** The outcomes of messages that failed, or whose reply was not delivered. */
const FAILED_OUTCOMES = 'dead,undelivered'
/** The kinds of pauses of other objects that can be ended on the page of a route. */
const ENDED_HERE = new Set(['skill', 'gateway'])

/** The message whose attempt has run for longest, with a button that ends the attempt. */
function LongRun({ of: running, route }) {
  const [{ id, since }, ...others] = running
  return html`<p class="now-it warn"><${MessageLink} id=${id} /> has run for <${Age} at=${since} />${others.length > 0 && html`, the longest of <a href=${link('messages', { route, outcome: 'running' })}>${running.length.toLocaleString('en')} that run</a>`}. <${CancelRun} id=${id} done=${() => changes.dead.value++} isSmall /></p>`
}

/** Ends the pause of the skill or of a gateway of the route. */
function EndPause({ of: { kind, name } }) {
  if (!ENDED_HERE.has(kind)) return null
  const words = [`Pause the ${kind}`, `Resume the ${kind}`]
  return html`<${Pause} isSmall isLeft kind=${kind} of=${{ [kind]: name }} name=${name} words=${words} />`
}

/** What is wrong with a gateway of the route, for how long, and why. */
function GatewayFault({ of: { gateway, what, since, text, why } }) {
  return html`<p class="now-it warn">Its gateway <a href=${link(['gateways', gateway])}>${gateway}</a> ${what}${since !== undefined && html` for <${Age} at=${since} />`}. <${Words} text=${withoutCommands(withLocalTimes(text ?? why))} /></p>`
}

/** What the messages of a route go to. */
function Target({ of: { skill, queue, bolt } }) {
  if (skill) return html`the skill <a href=${link(['skills', skill])}>${skill}</a>`
  if (queue) return `the queue ${queue}`
  return bolt ? `the app ${bolt}` : 'nothing'
}

/** The routes of the file that are tried before this one for messages of the same gateways. */
function RoutesBefore({ of: { name, match }, routes }) {
  const own = gatewaysOf({ match })
  const isRival = (route) => {
    const others = gatewaysOf(route)
    return others.length === 0 || own.length === 0 || others.some((each) => own.includes(each))
  }
  const at = routes.findIndex((route) => route.name === name)
  const before = routes.slice(0, at).filter((route) => !route.name.includes('@') && isRival(route))
  if (before.length === 0) return html`<span class="dim">No route of its gateways is tried before it.</span>`
  const shown = before.slice(-MAX_NAMED)
  return html`<span class="dim">Tried before it${shown.length < before.length ? `: ${before.length} routes, the last ones are` : ':'} </span>${shown.map((route, index) => html`${index > 0 && ', '}<a key=${route.name} href=${link(['routes', route.name])}>${route.name}</a>`)}<span class="dim">. The first that matches takes a message.</span>`
}

/** Maximum number of these routes that are named. */
const MAX_NAMED = 4
/**
 * The pauses that hold messages of the route: pauses of the route, of its skill, and of the
 * gateways and conversations of its newest waiting messages.
 */
function useHolds(route, skill) {
  const { value: pauses = [] } = usePauses()
  const budget = usedUpOf(skill) ? `budget ${Math.floor(clock.value / POLL_INTERVAL)}` : []
  const of = [pauses.map(({ kind, name, waiting }) => `${kind} ${name} ${waiting}`), budget].flat().join()
  const { value = { messages: [] } } = useLoaded(
    async (signal) =>
      of === ''
        ? { messages: [] }
        : invoke('message-search', { route, outcome: 'waiting', limit: MAX_MESSAGES }, signal),
    [route, of],
  )
  const { messages, next } = value
  const isOf = ({ kind, name, gateway, routes = [] }) => {
    if (kind === 'route') return name === route
    if (kind === 'skill') return name === skill || routes.includes(route)
    if (kind === 'gateway') return messages.some((each) => each.gateway === name)
    return messages.some((each) => each.gateway === gateway && each.conversation === name)
  }
  return { holds: pauses.filter(isOf), messages, next }
}

/** The messages of a route that wait for a pause, or for a budget. */
function WaitingMessages({ route, messages, next }) {
  return html`<h2>Waiting messages</h2>
    ${messages.length === 0 && html`<p class="dim">No message waits.</p>`}
    <ul class="newest" aria-label="Waiting messages">${messages.map((message) => html`<${LastMessage} key=${message.id} message=${message} />`)}</ul>
    ${(messages.length === MAX_MESSAGES || next !== undefined) && html`<p><a href=${link('messages', { route, outcome: 'waiting' })}>All that wait</a></p>`}`
}

/** The last messages of the route, with their outcomes. */
function LastMessages({ route, isPaused }) {
  const loaded = useLoaded(
    (signal) => invoke('message-search', { route, limit: MAX_MESSAGES }, signal),
    [route, isPaused, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { messages: found = [], next } = loaded.value ?? {}
  // Those that wait for a pause or a budget are listed above.
  const messages = isPaused ? found.filter(({ outcome }) => outcome !== 'waiting') : found
  return html`<h2>Last messages</h2><${Wait} of=${loaded} what="its messages" />
    ${loaded.value && messages.length === 0 && html`<p class="dim">${isPaused && found.length > 0 ? 'All that it took lately wait.' : next === undefined ? 'It has taken no message that is still retained.' : 'None among the newest messages.'}</p>`}
    <ul class="newest" aria-label="Last messages">${messages.map((message) => html`<${LastMessage} key=${message.id} message=${message} />`)}</ul>
    ${(found.length === MAX_MESSAGES || next !== undefined) && html`<p><a href=${link('messages', { route })}>All its messages</a></p>`}`
}

/** The errors of messages that are tried again are above. */
function LastMessage({ message }) {
  const { id, at, outcome } = message
  const attempt = useAttempt(message)
  return html`<li><a data-row href=${link(['messages', id])}><${Age} at=${at} /><span class="one-line"><${Gist} of=${message} /></span>${outcome === 'dead' && attempt?.error && html`<${RowError} text=${attempt.error} />`}<span><span class="dim">${took(attempt?.ms)}</span> <${Outcome} outcome=${outcome} /></span></a></li>`
}
