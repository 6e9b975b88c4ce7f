import { outsideText } from '../../lib/copies-at.ts'
import { html } from './html.js'
import { now } from './live.js'
import { link } from './router.js'

/**
 * Where copies may be that an erasure does not reach: `outside` of a count or of the result of an
 * erasure, whose `receivers` are those that read messages of the person.
 */
export function Outside({ of = {}, receivers = [] }) {
  return html`${receivers.length > 0 && html`<p class="dim">Copies may be at receivers of their messages: ${receivers.map((name, at) => html`${at > 0 && ', '}<${Receiver} key=${name} name=${name} />`)}. Ask them to erase theirs, too.</p>`}<p class="dim">${outsideText(of)}</p>`
}

/** A consumer group or a push subscription, which has a page while it exists. */
function Receiver({ name }) {
  const { groups = [], subscriptions = [] } = now.value ?? {}
  const known = [...subscriptions.map((each) => ({ ...each, group: each.name })), ...groups]
  const found = known.find(({ topic, group }) => topic === MESSAGES && group === name)
  return found ? html`<a href=${link(['queues', MESSAGES, name])}>${name}</a>` : name
}

/** The topic of the events of messages. */
const MESSAGES = 'gateway-message'
