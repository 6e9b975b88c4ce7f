import { mentionsSearch } from '../../lib/mentions.ts'
import { countedOpen, openCounts, openTitle } from '../../lib/open-kinds.ts'
import { shownIn } from '../../lib/people-in.ts'
import { useAttempt } from '../lib/attempts.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { dateTime, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Attempt } from './open-attempt.js'
import { BadgeOf, OpenRow } from './open-row.js'
import { On } from './open-thing.js'

/** Kinds that are listed before, with the conversations and messages. */
const LISTED = new Set([
  ...['approvals', 'messages', 'conversations', 'dead letters', 'undelivered replies', 'failed pushes'],
  ...['planned messages', 'replies', 'pushes', 'pushes again'],
])
/** Maximum number of things of a kind that are named. */
const MAX_NAMED = 3

/** Whether a count of a person has something open that is not listed before. */
export function hasAlsoOpen({ open = {} } = {}) {
  return otherKinds(open).length > 0
}

function otherKinds(open) {
  return openCounts(open).filter(({ kind }) => !LISTED.has(kind))
}

/**
 * What else is open, as the count of the person has it: schedules, work for others, and calls.
 */
export function AlsoOpen({ of: { open = {}, openItems = [] } = {} }) {
  const kinds = otherKinds(open)
  if (kinds.length === 0) return null
  return html`<ul class="plain open-things" aria-label="Also open">${kinds.map(({ kind, count }) => {
    const items = openItems.filter((item) => item.kind === kind)
    const more = count - Math.min(items.length, MAX_NAMED)
    return html`<li key=${kind}><b>${countedOpen(kind, count)}</b>${items.slice(0, MAX_NAMED).map((item, at) => html`<span key=${item.id}>${at === 0 ? ': ' : '; '}<${Item} of=${item} /></span>`)}${more > 0 && ` and ${more.toLocaleString('en')} more`}</li>`
  })}</ul>`
}

function Item({ of: item }) {
  const title = openTitle(item, { time: dateTime, author: authorOf })
  const to = placeOf(item)
  return to ? html`<a href=${to}>${title}</a>` : title
}

function placeOf({ kind, id, gateway, conversation }) {
  if (kind === 'schedules') return link(['schedules', id])
  return gateway && conversation ? link(['conversations', gateway, conversation]) : undefined
}

/** Whether messages of others that name the person wait or failed. */
export const hasOfOthers = ({ mentions } = {}) => (mentions?.open?.count ?? 0) > 0

/** Messages of others that name the person and wait or failed, such as a call about them. */
export function OfOthers({ of: { names, open } = {} }) {
  if (!open?.count) return null
  const more = open.count - open.newest.length
  return html`<ul class="plain open-things" aria-label="Waiting, sent by others">${open.newest.map((each) => html`<${OfOther} key=${each.id} of=${each} />`)}${more > 0 && html`<li><a href=${link('messages', { search: mentionsSearch(names, names[0]) })}>and ${more.toLocaleString('en')} more of others</a></li>`}</ul>`
}

function OfOther({ of }) {
  const { id, at, gateway, outcome, from } = of
  const { pausedBy } = useAttempt(of) ?? {}
  const state = { kind: 'message', state: pausedBy ? 'paused' : outcome, failed: outcome === 'dead', at }
  const why = html`<span class="dim">sent by ${shownIn(from) ?? from.address ?? from.id}</span> <${Attempt} of=${of} />`
  return html`<${OpenRow} badge=${html`<${BadgeOf} of=${state} />`} why=${why}><a data-row href=${link(['messages', id])}><${Gist} of=${of} /></a> <${On} gateway=${gateway} /><//>`
}
