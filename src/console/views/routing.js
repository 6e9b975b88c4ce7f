import { call } from '../lib/api.js'
import { clockOf } from '../lib/clock-of.js'
import { html } from '../lib/html.js'
import { Badge, useLoaded } from '../lib/parts.js'
import { untilOf } from '../lib/pause.js'
import { count } from '../lib/troubles.js'

/** Maximum number of shown routes that nearly match. */
const MAX_NEAR = 5

/**
 * What the routes do with a draft: which one answers and why, those that nearly match, and how many
 * others there are.
 */
export function RoutingResult({ routes, warning }) {
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const chosen = routes.find((route) => route.chosen)
  const isOfAssistant = ({ skill, route }) => {
    const { kind, shipped } = skills.find(({ name }) => name === skill) ?? {}
    return shipped && (kind === 'prefix' || route === skill)
  }
  const others = routes
    .filter((route) => route !== chosen)
    .toSorted((a, b) => missesOf(a).length - missesOf(b).length)
  const own = others.filter((route) => !isOfAssistant(route))
  const here = own.filter(isForGateway)
  const near = here.filter((route) => missesOf(route).length <= 1).slice(0, MAX_NEAR)
  const groups = [
    ['other route', here.filter((route) => !near.includes(route))],
    ['route of other gateways', own.filter((route) => !isForGateway(route)), 'routes of other gateways'],
    ['route of the assistant', others.filter(isOfAssistant), 'routes of the assistant'],
  ].filter(([, group]) => group.length > 0)
  return html`<${Verdict} chosen=${chosen} hint=${missingEvent(near)} warning=${warning} />
    ${chosen && html`<${Routes} routes=${[chosen]} />`}
    ${near.length > 0 && html`<h3 class="near">${chosen ? 'Also considered' : 'Nearest'}</h3><${Routes} routes=${near} />`}
    ${groups.map(([what, group, plural = `${what}s`]) => html`<details key=${what}><summary>${group.length === 1 ? count(1, what) : `${group.length} ${plural}`}</summary><${Routes} routes=${group} /></details>`)}`
}

/** The result of each route for a message. */
function Routes({ routes }) {
  return html`<ul class="routes">${routes.map(
    (route) => html`<li key=${route.route} class=${route.chosen ? 'chosen' : ''}>
    <b>${route.route}</b> <${Badge} kind=${route.chosen ? 'good' : 'dim'}>${route.chosen ? 'answers' : route.matched ? 'matches, too late' : 'no'}<//>
    <ul>${route.keys.map((key) => html`<li key=${key.key}>${key.matched ? '✓' : '✗'} <code>${key.key}</code> wants ${key.wanted}, ${key.actual === 'absent' ? 'which the message does not have' : `the message has ${key.actual}`}${key.reason && html`: <b>${key.reason}</b>`}</li>`)}</ul>
  </li>`,
  )}</ul>`
}

/** Which route answers. `warning`: what is wrong with the text. */
export function Verdict({ chosen, hint = '', warning }) {
  const isGood = chosen && !warning && !chosen.pausedBy && !chosen.callsPaused && !chosen.usedUp
  return html`<p class=${`verdict ${isGood ? 'good' : 'warn'}`}>${chosen ? html`<b>${chosen.route}</b> answers: ${effectOf(chosen)}.` : `No route matches.${warning ? '' : hint}`}${warning && ' The text is not valid JSON, so its fields do not count.'}</p>`
}

/** Says that the routes are not known, because of errors in the form. */
export function NotChecked({ errors }) {
  return html`<p class="verdict warn">Not checked. ${Object.entries(errors)
    .map(([name, error]) => `${name}: ${error}`)
    .join(' ')}</p>`
}

/**
 * What happens to a message of a route, as a clause. `pausedBy`: the pauses that it waits for,
 * `usedUp`: the budget, `callsPaused`: the pauses of skills that its skill calls.
 */
export function effectOf({ skill, queue, bolt, pausedBy = [], callsPaused = [], usedUp }) {
  const effect = `${effectOfRoute({ skill, queue, bolt })}${ifItCalls(callsPaused)}`
  const waits = [
    ...(pausedBy.length > 0 ? [whilePaused(pausedBy)] : []),
    ...(usedUp ? [`until ${clockOf(usedUp.until)}, as the budget (${usedUp.limit}) is used up`] : []),
  ]
  return waits.length === 0 ? effect : `the message waits ${waits.join(', and ')}; then ${effect}`
}

/** `, and waits if it calls skill refund, which is paused (until it is resumed)` */
function ifItCalls(pauses) {
  if (pauses.length === 0) return ''
  const names = pauses.map(whatIs).join(' or ')
  const ends = pauses.map(untilOf).join(' and ')
  return `, and waits if it calls ${names}, which ${pauses.length === 1 ? 'is' : 'are'} paused (${ends})`
}

function whilePaused(pauses) {
  const names = pauses.map((pause) => `${whatIs(pause)} (${untilOf(pause)})`).join(' and ')
  return `while ${names} ${pauses.length === 1 ? 'is' : 'are'} paused`
}

function effectOfRoute({ skill, queue, bolt }) {
  if (skill) return `the skill ${skill} runs`
  if (queue) return `it goes to the queue ${queue}`
  return bolt ? `the app ${bolt} gets it` : 'nothing runs'
}

function whatIs({ kind, name }) {
  return kind === 'store' ? name : `${kind} ${name}`
}

function missesOf({ keys }) {
  return keys.filter(({ matched }) => !matched)
}

function isForGateway({ keys }) {
  return keys.every(({ key, matched }) => matched || (key !== 'gateway' && key !== 'transport'))
}

/** Says that the event is missing, the most frequent reason why routes of webhooks miss. */
function missingEvent(near) {
  const wanted = near.flatMap((route) =>
    missesOf(route).filter(({ key, actual }) => key === 'event' && actual === 'absent'),
  )
  return wanted.length > 0 ? ` The message has no event; ${wanted[0].wanted} would match.` : ''
}
