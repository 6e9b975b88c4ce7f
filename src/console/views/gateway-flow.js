import { call, invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { mayTake } from '../lib/may-take.js'
import { Copy, useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { MAX_UNSENT, useUnsent } from '../lib/unsent.js'

/** The topic of messages. */
const MESSAGES = 'gateway-message'
/** The path at the beginning of what a webhook says about itself. */
const PATH = /^\/\S*/

/** Facts about a gateway: its full address, where its messages go, and what it could not send. */
export function useFlow(name, { transport, detail = '' } = {}) {
  const at = now.value?.configuration?.at
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [at])
  const isWebhook = transport === 'webhook'
  const { value: configuration } = useLoaded(
    async (signal) =>
      isWebhook ? call('GET', '/v1/configuration', undefined, signal).catch(() => undefined) : undefined,
    [isWebhook, at],
  )
  const unsent = useUnsent({ gateway: name })
  const root = configuration?.inForce?.publicUrl?.replace(/\/+$/, '')
  const [path] = PATH.exec(detail) ?? []
  const url = isWebhook && path && root && `${root}${path}`
  const pushes = (now.value?.subscriptions ?? []).filter(
    (push) => push.topic === MESSAGES && mayTake(push, { name, transport }),
  )
  return {
    'address for its sender': url && html`<code>${url}</code> <${Copy} label="Copy" text=${url} />`,
    routes: routeLinks(
      routes.filter((route) => mayTake(route, { name, transport })),
      transport,
    ),
    pushes: linksTo(pushes, (push) => ['queues', MESSAGES, push.name]),
    'not delivered':
      unsent.length > 0 &&
      html`<a href=${link('dead-letters', { queue: 'outbox', group: name })}>${repliesIn(unsent)}</a>`,
  }
}

function repliesIn({ length }) {
  return length === 1 ? '1 reply' : `${length}${length === MAX_UNSENT ? '+' : ''} replies`
}

/** Maximum number of links of one kind. */
const MAX_LINKS = 6
/** Routes of built-in skills are named `SKILL@TRANSPORT`, so a search finds them. */
const isOfSkill = ({ name }) => name.includes('@')

/** Links to the configured routes, and the number of those of skills, such as the assistant. */
function routeLinks(routes, transport) {
  const ofSkills = routes.filter(isOfSkill).length
  const configured = linksTo(
    routes.filter((route) => !isOfSkill(route)),
    (route) => ['routes', route.name],
  )
  if (ofSkills === 0) return configured
  const others = html`<a href=${link('routes', { search: `@${transport}` })}>${ofSkills} ${ofSkills === 1 ? 'that comes' : 'that come'} with skills</a>`
  return configured ? html`${configured} <span class="dim">and ${others}</span>` : others
}

/** Links, separated by commas; undefined for none. */
function linksTo(items, pathOf) {
  if (items.length === 0) return undefined
  const left = items.length - MAX_LINKS
  const links = items
    .slice(0, MAX_LINKS)
    .map((item, at) => html`${at > 0 && ', '}<a key=${item.name} href=${link(pathOf(item))}>${item.name}</a>`)
  return html`${links}${left > 0 && html` <span class="dim">and ${left} more</span>`}`
}
