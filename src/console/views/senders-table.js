import { useState } from 'preact/hooks'
import { openGroups } from '../../lib/open-groups.ts'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Marked } from '../lib/marked.js'
import { isInGroup, isOpenAs } from '../lib/open-by-person.js'
import { Age, Badge, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'
import { FirstThing } from './open-thing.js'

/** How the columns are sorted. The newest message comes first without another order. */
const ORDERS = {
  sender: (a, b) => labelOf(a).localeCompare(labelOf(b)),
  wrote: (a, b) => b.wrote - a.wrote || compareLast(a, b),
  last: compareLast,
  open: by([(things) => things.filter(({ failed }) => failed), (things) => things]),
  waits: by([(things) => things.filter(isForPerson), (things) => things]),
}
const DEFAULT = 'last'
/** The order of a list that is filtered by open items. */
const OPEN_DEFAULT = 'waits'

/** The labels of the orders. A list of one kind of open items cannot be sorted by another kind. */
export function ordersSaid({ open }) {
  const isOfKind = isKind(open)
  const isWaiting = !isOfKind || ['answer', 'approval'].includes(open)
  return [
    ['last', 'newest message'],
    ['waits', isWaiting ? 'who waits longest' : 'oldest first'],
    ...(isOfKind ? [] : [['open', 'what failed']]),
    ['wrote', 'who wrote most'],
    ['sender', 'name'],
  ]
}

/** Whether a list is filtered by one kind of open items. */
const isKind = (open) => Boolean(open) && open !== 'any'

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

/** The order of a list: from the address, or the longest wait first if filtered by open items. */
export function orderOf({ sort, open }) {
  // Older links sort by all messages.
  const wanted = sort === 'messages' ? 'wrote' : sort
  if (Object.hasOwn(ORDERS, wanted ?? '')) return wanted
  return open ? OPEN_DEFAULT : DEFAULT
}

/** The value of `sort` in the address for an order; undefined for the default. */
export function sortFor(order, { open }) {
  return order === orderOf({ open }) ? undefined : order
}

function comparing(filter) {
  const { open } = filter
  const order = orderOf(filter)
  const isOfKind = isKind(open) && ['waits', 'open'].includes(order)
  return isOfKind ? by([(things) => things.filter((thing) => isInGroup(thing, open))]) : ORDERS[order]
}

/** The title of the last column, by the filter. */
const WHAT = { any: 'what is open', failed: 'what failed', held: 'conversation', paused: 'what is paused' }

/** Maximum number of rows at first. */
const MAX_ROWS = 200

/**
 * The senders with their `open` items. A list filtered by these shows them instead of the newest
 * message. `filter`: that of the list, with its order, which `set` changes; without `set`, the columns
 * have no buttons.
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
    return html`<th scope="col" class=${name} aria-sort=${order}>${set ? html`<button type="button" class="sorts" onClick=${() => set({ sort: sortFor(nextOrder(key, filter), filter) })}>${title}${isSorted ? ' ↓' : ''}</button>` : title}</th>`
  }
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
    <caption>${caption}</caption>
    <thead><tr>${column('sender', 'sender')}<th scope="col">gateway</th>${column('wrote', 'wrote', 'number')}<th scope="col" class="number">events</th>${!filter.open && column('last', 'last')}${column('open', 'open')}<th scope="col">${filter.open ? (WHAT[filter.open] ?? 'what waits') : 'last message'}</th></tr></thead>
    <tbody>${rows.map((person) => html`<${Row} key=${person.identity} of=${person} wanted=${wanted} group=${filter.open} />`)}</tbody></table></div>
    ${rows.length < people.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${people.length.toLocaleString('en')}</button></p>`}`
}

/**
 * The order after a click on a column title. A second click on *open* sorts by the longest wait.
 */
function nextOrder(key, filter) {
  if (key !== 'open') return key
  return isKind(filter.open) || orderOf(filter) === 'open' ? 'waits' : 'open'
}

const labelOf = ({ name, id }) => name ?? id

function Row({ of, wanted, group }) {
  const { identity, gateways, id, name, newest, open } = of
  const groups = openGroups(open)
  const shown = group ? open.filter((thing) => isInGroup(thing, group)) : [newest.thing].filter(Boolean)
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${name && html`<span class="person-name"><${Marked} text=${name} wanted=${wanted} /></span><span class="unseen"> · </span>`}<span class=${name ? 'address dim' : undefined}><${Marked} text=${id} wanted=${wanted} /></span></a></td><td>${[...gateways].map((gateway, at) => html`${at > 0 && ', '}<${Marked} text=${gateway} wanted=${wanted} />`)}</td><${Counts} of=${of} />${!group && html`<td class="whole-words"><${Age} at=${newest.at} /> ago</td>`}<td class="open-with">${groups.map((each) => html`<${Open} key=${each.group} of=${each} /> `)}</td><td class="gist">${shown.length > 0 ? html`<${FirstThing} of=${shown} wanted=${wanted} />` : html`<a href=${link(['messages', newest.id])}><${Gist} of=${newest} wanted=${wanted} /></a>`}</td></tr>`
}

/** How many texts the person wrote, and how many events machines sent about them. */
function Counts({ of: { messages, wrote, more } }) {
  const [texts, events] = [wrote, messages - wrote].map(
    (many) => `${many.toLocaleString('en')}${more ? '+' : ''}`,
  )
  const title = more ? 'Older messages are not counted yet' : undefined
  if (messages === 0) return html`<td class="number" title=${title}>${more ? 'older' : '0'}</td><td></td>`
  if (!isNarrow.value)
    return html`<td class="number" title=${title}>${texts}</td><td class="number dim" title=${title}>${messages > wrote && events}</td>`
  return html`<td class="number">${wrote > 0 && `wrote ${texts}`}</td><td class="number">${messages > wrote && `${events} ${messages - wrote === 1 && !more ? 'event' : 'events'}`}</td>`
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
