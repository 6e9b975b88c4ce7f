import { deliveryOf } from '../lib/event-delivery.js'
import { html } from '../lib/html.js'
import { money, tokens } from '../lib/money.js'
import { Badge, Facts, took } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { OPEN } from './test-outcome.js'

/** Parts of a route that say nothing new: a test is sent to its gateway. */
const OF_GATEWAY = new Set(['gateway', 'transport'])
/** Conversations of tests without one begin with this. */
const OWN_CONVERSATION = 'cli-'

/** What took a test: the route and why, the skill and what it used, workers, groups and pushes. */
export function TestFacts({ of: shown, test }) {
  const { message, history } = shown
  const attempt = history.findLast(({ road, detail }) => road === 'dispatch' && detail?.route)?.detail
  const route = attempt?.route ?? shown.running?.route ?? test.route
  return html`<div class="test-facts" role="group" aria-label="What took it"><${Facts} of=${{
    matched: route ? html`<${Matched} route=${route} by=${test.by} />` : 'no route matches',
    ran: route && html`<${Ran} of=${shown} attempt=${attempt} skill=${test.skill} />`,
    conversation:
      !message.conversation.startsWith(OWN_CONVERSATION) &&
      html`<a href=${link(['conversations', message.gateway, message.conversation])}>${message.conversation}</a>`,
    workers: workersOf(shown.receive),
    events: shown.events?.length > 0 && html`<${Receivers} of=${shown} />`,
  }} /></div>`
}

/** The route, and what it matched by. */
function Matched({ route, by = [] }) {
  const own = by.filter(({ key }) => !OF_GATEWAY.has(key))
  return html`route <a href=${link(['routes', route])}>${route}</a>${own.length > 0 && html` <span class="dim">by ${own.map(({ key, wanted }) => `${key} ${wanted}`).join(', ')}</span>`}`
}

/** What the last attempt ran, and what that took. */
function Ran({ of: { outcome, history, running }, attempt, skill }) {
  const models = history.filter(({ what }) => what === 'model').map(({ detail }) => detail)
  const name = skill ?? running?.skill ?? models.at(-1)?.skill
  const title = name ? html`skill <a href=${link(['skills', name])}>${name}</a>` : 'yes'
  const number = running?.attempt ?? attempt?.attempt ?? 1
  if (!attempt && !running) return OPEN.has(outcome) ? 'not yet' : 'nothing'
  const used = [
    !running && took(attempt.skillMs ?? attempt.ms),
    number > 1 && `attempt ${number}`,
    ...models.slice(-1).map(usedBy),
  ]
  const tools = models.flatMap((one) => one.tools ?? [])
  return html`${title} <span class="dim">${used.filter(Boolean).join(' · ')}</span>${tools.length > 0 && html`<ul class="plain">${tools.map((tool, at) => html`<li key=${at}><code>${tool.tool}</code> ${tool.error ? html`<span class="error">${tool.error}</span>` : html`<span class="dim">${took(tool.ms)}</span>`}</li>`)}</ul>`}`
}

/** `2.53k tokens · 0.010 EUR` */
function usedBy({ inputTokens = 0, outputTokens = 0, money: paid, currency }) {
  const cost = paid === undefined ? '' : ` · ${money(paid, currency)}`
  return `${tokens(inputTokens + outputTokens)} tokens${cost}`
}

/** Which worker pulled it. In most projects, none does. */
function workersOf(receive) {
  if (receive?.by) return `taken by ${receive.by}`
  if (receive?.unused) return undefined
  return receive?.state === 'waiting' ? 'none has taken it' : receive?.state
}

/** Which groups and pushes got it. A push has one entry: that of its group. */
function Receivers({ of: { events, pushes = [] } }) {
  const got = events.filter((one) => deliveryOf(one).kind === 'good').length
  return html`<span class="dim">${got} of ${events.length} got it</span><ul class="plain">${events.map(
    (one) =>
      html`<li key=${one.group}>${one.push ? 'push' : 'group'} ${one.group} <${Badge} kind=${deliveryOf(one).kind}>${deliveryOf(one).text}<//> <span class="dim">${lastAttempt(one, pushes)}</span></li>`,
  )}</ul>`
}

/** The answer to the last attempt of a push, and how long it took. */
function lastAttempt({ group, push }, pushes) {
  const last = push && pushes.findLast(({ subscription }) => subscription === group)
  return last && [last.status, last.ms !== undefined && took(last.ms), last.reason].filter(Boolean).join(', ')
}
