import { useRef, useState } from 'preact/hooks'
import { openGroups, waitOf } from '../../lib/open-groups.ts'
import { useHeldOrder } from '../lib/held-order.js'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Marked } from '../lib/marked.js'
import { isInGroup } from '../lib/open-by-person.js'
import { Age, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'
import { OpenBadge } from './open-row.js'
import { FirstThing } from './open-thing.js'

/** How the columns are sorted. Who wrote last comes first without another order. */
const ORDERS = {
  sender: (a, b) => labelOf(a).localeCompare(labelOf(b)),
  wrote: (a, b) => b.wrote - a.wrote || compareLast(a, b),
  last: compareLast,
  open: by([(things) => timesOf(things.filter(isFailed)), timesOf]),
  waits: by([waitsOf, timesOf]),
}
const DEFAULT = 'last'
/** The order of a list that is filtered by open items. */
const OPEN_DEFAULT = 'waits'

/** The labels of the orders. A list of one kind of open items cannot be sorted by another kind. */
export function ordersSaid({ open }) {
  const isOfKind = isKind(open)
  const isWaiting = !isOfKind || ['answer', 'approval'].includes(open)
  return [
    ['last', 'wrote last'],
    ['waits', isWaiting ? 'waits longest' : 'oldest first'],
    ...(isOfKind ? [] : [['open', 'what failed']]),
    ['wrote', 'wrote most'],
    ['sender', 'name'],
  ]
}

/** Whether a list is filtered by one kind of open items. */
const isKind = (open) => Boolean(open) && open !== 'any'

/** People about whom only machines sent something come after those who wrote, as in `person-list`. */
function compareLast(a, b) {
  return (b.newestText?.at ?? 0) - (a.newestText?.at ?? 0) || b.newest.at - a.newest.at
}

/** Since when a person waits for an answer or an approval, as on their page. */
function waitsOf(things) {
  return things.flatMap((thing) => waitOf(thing) ?? [])
}

function timesOf(things) {
  return things.map(({ at }) => at)
}

const isFailed = ({ failed }) => Boolean(failed)

/** The things of a person in the order of the list: first, since the longest time, what sorts the row. */
function firstOf(things, filter) {
  const timeOf = (thing) => (orderOf(filter) === 'open' ? thing.failed && thing.at : waitOf(thing))
  const first = things.filter(timeOf).toSorted((a, b) => timeOf(a) - timeOf(b))
  return [...first, ...things.filter((thing) => !timeOf(thing))]
}

/**
 * Sorts people by the times of what is open with them, the oldest first: those with some of the first choice,
 * then those with others, and last those with nothing open, newest first.
 */
function by(choices) {
  return (a, b) => {
    for (const chosen of choices) {
      const [one, other] = [a, b].map(({ open }) => Math.min(...chosen(open)))
      if (Number.isFinite(one) !== Number.isFinite(other)) return one - other
      if (Number.isFinite(one) && one !== other) return one - other
    }
    return compareLast(a, b)
  }
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
  if (!isOfKind) return ORDERS[order]
  const times = open === 'answer' ? waitsOf : timesOf
  return by([(things) => times(things.filter((thing) => isInGroup(thing, open)))])
}

/** The title of the last column, by the filter. */
const WHAT = {
  any: 'what is open',
  failed: 'what failed',
  held: 'conversation',
  paused: 'what is paused',
  retrying: 'what is retried',
}

function titleOfLast(filter) {
  if (filter.open) return WHAT[filter.open] ?? 'what waits'
  return isByOpen(filter) ? 'what is open, or the last text' : 'last text'
}

/** Whether a list is sorted by what is open. */
const isByOpen = (filter) => ['waits', 'open'].includes(orderOf(filter))

/** Maximum number of rows at first. */
const MAX_ROWS = 200

/**
 * The senders with their `open` items. A list filtered by these shows them instead of the newest
 * message. `filter`: that of the list, with its order, which `set` changes; without `set`, the columns
 * have no buttons. While somebody uses the rows, they keep their order, unless `shown` changes.
 */
export function SendersTable({ people, wanted, caption, filter, set, shown }) {
  const [isWhole, setWhole] = useState(false)
  const sort = orderOf(filter)
  const box = useRef()
  const held = useHeldOrder(people.toSorted(comparing(filter)), { key: shown, keyOf, box })
  const { rows: sorted } = held
  const rows = isWhole ? sorted : sorted.slice(0, MAX_ROWS)
  const keep = () =>
    keepTrail(
      rows.map(({ identity }) => ({ href: link('people', { who: identity }), key: identity })),
      rows.length === sorted.length,
    )
  const column = (key, title, name = '') => {
    const isSorted = set && (key === sort || (key === 'open' && sort === 'waits'))
    const order = isSorted ? (key === 'sender' ? 'ascending' : 'descending') : undefined
    return html`<th scope="col" class=${name} aria-sort=${order}>${set ? html`<button type="button" class="sorts" onClick=${() => set({ sort: sortFor(nextOrder(key, filter), filter) })}>${title}${isSorted ? ' ↓' : ''}</button>` : title}</th>`
  }
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
    <caption>${caption}${held.isDue && html` <button type="button" class="pill" onClick=${held.apply}>Changed · refresh</button>`}</caption>
    <thead><tr>${column('sender', 'sender')}<th scope="col">gateway</th>${column('wrote', 'wrote', 'number')}<th scope="col" class="number">events</th>${!filter.open && column('last', 'wrote last')}${column('open', 'open')}<th scope="col">${titleOfLast(filter)}</th></tr></thead>
    <tbody ref=${box}>${rows.map((person) => html`<${Row} key=${person.identity} of=${person} wanted=${wanted} filter=${filter} />`)}</tbody></table></div>
    ${rows.length < sorted.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${sorted.length.toLocaleString('en')}</button></p>`}`
}

/**
 * The order after a click on a column title. A second click on *open* sorts by the longest wait.
 */
function nextOrder(key, filter) {
  if (key !== 'open') return key
  return isKind(filter.open) || orderOf(filter) === 'open' ? 'waits' : 'open'
}

const keyOf = ({ identity }) => identity

const labelOf = ({ name, id }) => name ?? id

function Row({ of, wanted, filter }) {
  const { identity, gateways, id, name, newestText } = of
  const open = firstOf(of.open, filter)
  const shown = filter.open
    ? open.filter((thing) => isInGroup(thing, filter.open))
    : isByOpen(filter)
      ? open
      : []
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${name && html`<span class="person-name"><${Marked} text=${name} wanted=${wanted} /></span><span class="unseen"> · </span>`}<span class=${name ? 'address dim' : undefined}><${Marked} text=${id} wanted=${wanted} /></span></a></td><td>${[...gateways].map((gateway, at) => html`${at > 0 && ', '}<${Marked} text=${gateway} wanted=${wanted} />`)}</td><${Counts} of=${of} />${!filter.open && html`<td class="whole-words">${newestText && html`${isNarrow.value && 'last '}<${Age} at=${newestText.at} /> ago`}</td>`}<td class="open-with">${badgesOf(open).map((each) => html`<${Open} key=${each.group} of=${each} /> `)}</td><td class="gist">${shown.length > 0 ? html`<${FirstThing} of=${shown} wanted=${wanted} />` : html`<${Last} of=${of} wanted=${wanted} />`}</td></tr>`
}

/** The groups of open things: first that of the first thing. */
function badgesOf(things) {
  const groups = openGroups(things)
  const first = groups.filter((group) => group.things.includes(things[0]))
  return [...first, ...groups.filter((group) => !first.includes(group))]
}

/** What a person wrote last; without a text of theirs, the newest event about them, and when it came. */
function Last({ of: { newest, newestText }, wanted }) {
  if (newest.thing) return html`<${FirstThing} of=${[newest.thing]} wanted=${wanted} />`
  const { id } = newestText ?? newest
  const gist = html`<a href=${link(['messages', id])}><${Gist} of=${newestText ?? newest} wanted=${wanted} /></a>`
  return newestText
    ? gist
    : html`${gist} <span class="dim of-thing">event, <${Age} at=${newest.at} /> ago</span>`
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
function Open({ of }) {
  const { group, things } = of
  const named = things.slice(0, MAX_NAMED).map(nameOf).join('; ')
  const badge = html`<${OpenBadge} of=${of} title=${named} />`
  return group === 'erasing' ? html`<a href=${link(['jobs', things[0].id])}>${badge}</a>` : badge
}

/** `not delivered: mailbox full`, `Refund 12 EUR`, `paused: route contacts`. */
function nameOf({ state, failed, error, title, subject, pausedBy }) {
  if (pausedBy) return `paused: ${pausedBy.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`
  if (failed) return error ? `${state}: ${error}` : state
  return title ?? subject ?? state
}
