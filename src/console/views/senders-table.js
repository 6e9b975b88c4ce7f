import { useState } from 'preact/hooks'
import { openGroups } from '../../lib/open-groups.ts'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Marked } from '../lib/marked.js'
import { isOpenAs } from '../lib/open-by-person.js'
import { Age, Badge, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'
import { count } from '../lib/troubles.js'

/** How the columns are sorted. The newest message comes first without another order. */
const ORDERS = {
  sender: (a, b) => labelOf(a).localeCompare(labelOf(b)),
  messages: (a, b) => b.messages - a.messages || compareLast(a, b),
  last: compareLast,
  open: by([(things) => things.filter(({ failed }) => failed), (things) => things]),
  waits: by([(things) => things.filter(isForPerson), (things) => things]),
}
const DEFAULT = 'last'

/** The orders in words: a phone has no columns. */
export const ORDERS_SAID = [
  ['last', 'newest message'],
  ['waits', 'who waits longest'],
  ['open', 'what failed'],
  ['messages', 'most messages'],
  ['sender', 'name'],
]

function compareLast(a, b) {
  return b.newest.at - a.newest.at
}

/** Somebody has to answer or to decide. */
const isForPerson = (thing) => ['answer', 'approval'].some((group) => isOpenAs([thing], group))

/**
 * Sorts people by what is open with them, the oldest first: those with things of the first choice,
 * then those with others, and last those with nothing open, newest first.
 */
function by(choices) {
  return (a, b) => {
    for (const chosen of choices) {
      const [one, other] = [a, b].map(({ open }) => openSince(chosen(open)))
      if (Number.isFinite(one) !== Number.isFinite(other)) return one - other
      if (Number.isFinite(one) && one !== other) return one - other
    }
    return compareLast(a, b)
  }
}

/** Since when something is open with a person: infinite without any. */
function openSince(things) {
  return Math.min(...things.map(({ at }) => at))
}

/** The order of a list: that of the address, else the oldest first if it is filtered by what is open. */
export function orderOf({ sort, open }) {
  if (Object.hasOwn(ORDERS, sort ?? '')) return sort
  return open ? 'open' : DEFAULT
}

function comparing(filter) {
  const { open, sort } = filter
  const isOfKind = open && open !== 'any' && !sort
  return isOfKind
    ? by([(things) => things.filter((thing) => isOpenAs([thing], open))])
    : ORDERS[orderOf(filter)]
}

/** Maximum number of rows at first. */
const MAX_ROWS = 200

/**
 * The senders with what is `open` with them. `filter`: that of the list, with its order, which `set`
 * changes; without it, the columns have no buttons.
 */
export function SendersTable({ people, wanted, caption, filter, set }) {
  const [isWhole, setWhole] = useState(false)
  const sort = orderOf(filter)
  const sorted = people.toSorted(comparing(filter))
  const rows = isWhole ? sorted : sorted.slice(0, MAX_ROWS)
  const keep = () =>
    keepTrail(
      rows.map(({ identity }) => ({ href: link('people', { who: identity }), key: identity })),
      rows.length === people.length,
    )
  const column = (key, title, name = '') => {
    const isSorted = set && (key === sort || (key === 'open' && sort === 'waits'))
    const order = isSorted ? (key === 'sender' ? 'ascending' : 'descending') : undefined
    return html`<th scope="col" class=${name} aria-sort=${order}>${set ? html`<button type="button" class="sorts" onClick=${() => set(key === DEFAULT && !filter.open ? undefined : key)}>${title}${isSorted ? ' ↓' : ''}</button>` : title}</th>`
  }
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
    <caption>${caption}</caption>
    <thead><tr>${column('sender', 'sender')}<th scope="col">gateway</th>${column('messages', 'messages', 'number')}${column('last', 'last')}${column('open', 'open')}<th scope="col">last message</th></tr></thead>
    <tbody>${rows.map((person) => html`<${Row} key=${person.identity} of=${person} wanted=${wanted} />`)}</tbody></table></div>
    ${rows.length < people.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${people.length.toLocaleString('en')}</button></p>`}`
}

const labelOf = ({ name, id }) => name ?? id

function Row({ of: { identity, gateways, id, name, newest, messages, more, open }, wanted }) {
  const many = messages === 0 ? 'older' : `${messages.toLocaleString('en')}${more ? '+' : ''}`
  const said = more ? `${many} messages` : count(messages, 'message')
  const groups = openGroups(open)
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${name && html`<span class="person-name"><${Marked} text=${name} wanted=${wanted} /></span><span class="unseen"> · </span>`}<span class=${name ? 'address dim' : undefined}><${Marked} text=${id} wanted=${wanted} /></span></a></td><td>${[...gateways].map((gateway, at) => html`${at > 0 && ', '}<${Marked} text=${gateway} wanted=${wanted} />`)}</td><td class="number" title=${more ? 'Older messages are not counted yet' : undefined}>${isNarrow.value ? said : many}</td><td class="whole-words"><${Age} at=${newest.at} /> ago</td><td class="open-with">${groups.map((each) => html`<${Open} key=${each.group} of=${each} /> `)}</td><td class="gist"><a href=${link(['messages', newest.id])}><${Gist} of=${newest} wanted=${wanted} /></a></td></tr>`
}

/** Maximum number of things in a tooltip. */
const MAX_NAMED = 3

/** What is open of one kind: how many, and for how long the first. A job has a page of its own. */
function Open({ of: { group, kind, things, since, said } }) {
  const named = things.slice(0, MAX_NAMED).map(nameOf).join('; ')
  const badge = html`<${Badge} kind=${kind} title=${named}>${said} · <${Age} at=${since} /><//>`
  return group === 'erasing' ? html`<a href=${link(['jobs', things[0].id])}>${badge}</a>` : badge
}

/** `not delivered: mailbox full`, `Refund 12 EUR`, `paused: route contacts`. */
function nameOf({ state, failed, error, title, subject, pausedBy }) {
  if (pausedBy) return `paused: ${pausedBy.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`
  if (failed) return error ? `${state}: ${error}` : state
  return title ?? subject ?? state
}
