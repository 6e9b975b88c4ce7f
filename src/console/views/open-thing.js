import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** The topic of events about messages. */
export const MESSAGE_TOPIC = 'gateway-message'

/** The address of the page of a person's open item; undefined if it has none. */
export function placeOfThing({ kind, id, gateway, conversation, queue }) {
  if (kind === 'approval') return link('approvals', { id })
  if (kind === 'message') return link(['messages', id])
  if (kind === 'job') return link(['jobs', id])
  if (kind === 'letter') return link(['dead-letters', id], { queue })
  return conversation === undefined ? undefined : link(['conversations', gateway, conversation])
}

/** An open item in one line: the text of a message or conversation, or a title. */
export function ThingTitle({ of, wanted }) {
  const { kind, title, skill } = of
  if (kind === 'conversation') return html`<${Gist} of=${{ ...of, event: undefined }} wanted=${wanted} />`
  if (kind === 'message') return html`<${Gist} of=${of} wanted=${wanted} />`
  if (kind === 'job') return 'An erasure of this person runs'
  return title ?? skill
}

/** The gateway of an open item, as a label. */
export function On({ gateway }) {
  return gateway === undefined ? null : html`<span class="chip on-gateway">${gateway}</span>`
}

/** The first of a person's open items with its error, and the number of others. */
export function FirstThing({ of: [first, ...others], wanted }) {
  const place = placeOfThing(first)
  const title = html`<${On} gateway=${first.gateway} /> <${ThingTitle} of=${first} wanted=${wanted} />`
  const error = first.error ?? first.undelivered?.error
  const more =
    others.length > 0 &&
    html`<span class="dim and-more" title=${`and ${others.length} more`}>+${others.length.toLocaleString('en')}</span>`
  return html`${more}${place ? html`<a href=${place}>${title}</a>` : title}${error && html`<span class="of-thing"><span class="error">${causeOf(error)}</span></span>`}`
}
