import { useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Marked } from '../lib/marked.js'
import { kindOf, openSince } from '../lib/open-by-person.js'
import { Age, Badge, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** How the columns are sorted. The newest message comes first without another order. */
const ORDERS = {
  sender: (a, b) => labelOf(a).localeCompare(labelOf(b)),
  messages: (a, b) => b.messages - a.messages || compareLast(a, b),
  last: compareLast,
  open: compareOpen,
}
const DEFAULT = 'last'

/** The orders as a phone offers them, which has no columns. */
const SAID = [
  ['last', 'newest message'],
  ['open', 'what failed, then who waits longest'],
  ['messages', 'most messages'],
  ['sender', 'name'],
]

function compareLast(a, b) {
  return b.newest.at - a.newest.at
}

/** What failed comes first, then who waits longest, and last people with nothing open, newest first. */
function compareOpen(a, b) {
  const [one, other] = [a, b].map(({ open }) => (open.some(({ failed }) => failed) ? 1 : 0))
  if (one !== other) return other - one
  const [since, until] = [openSince(a.open), openSince(b.open)]
  return since === until ? compareLast(a, b) : since - until
}

/** Maximum numbers of open things that a row names, and of rows at first. */
const LIMITS = { open: 2, rows: 200 }

/**
 * The senders with what is `open` with them. `set` changes the order, which is `sort`; without it,
 * the columns have no buttons.
 */
export function SendersTable({ people, wanted, caption, sort = DEFAULT, set }) {
  const [isWhole, setWhole] = useState(false)
  const sorted = people.toSorted(ORDERS[sort] ?? ORDERS[DEFAULT])
  const rows = isWhole ? sorted : sorted.slice(0, LIMITS.rows)
  const sortBy = (key) => set(key === DEFAULT ? undefined : key)
  const column = (key, title, name = '') =>
    html`<th scope="col" class=${name} aria-sort=${set && key === sort ? (key === 'sender' ? 'ascending' : 'descending') : undefined}>${set ? html`<button type="button" class="sorts" onClick=${() => sortBy(key)}>${title}${key === sort ? ' ↓' : ''}</button>` : title}</th>`
  return html`${set && isNarrow.value && people.length > 1 && html`<label class="pick"><span>Sorted by</span><select value=${sort} onChange=${(event) => sortBy(event.target.value)}>${SAID.map(([key, said]) => html`<option key=${key} value=${key}>${said}</option>`)}</select></label>`}
  <div class="scrolls" tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
    <caption>${caption}</caption>
    <thead><tr>${column('sender', 'sender')}<th scope="col">gateway</th>${column('messages', 'messages', 'number')}${column('last', 'last')}${column('open', 'open')}<th scope="col" class="wide">last message</th></tr></thead>
    <tbody>${rows.map((person) => html`<${Row} key=${person.identity} of=${person} wanted=${wanted} />`)}</tbody></table></div>
    ${rows.length < people.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${people.length.toLocaleString('en')}</button></p>`}`
}

const labelOf = ({ name, id }) => name ?? id

function Row({ of: { identity, gateways, id, name, newest, messages, more, open }, wanted }) {
  const others = open.length - LIMITS.open
  const many = messages === 0 ? 'older' : `${messages.toLocaleString('en')}${more ? '+' : ''}`
  const said = more ? `${many} messages` : count(messages, 'message')
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${name && html`<${Marked} text=${name} wanted=${wanted} /> · `}<${Marked} text=${id} wanted=${wanted} /></a></td><td>${[...gateways].map((gateway, at) => html`${at > 0 && ', '}<${Marked} text=${gateway} wanted=${wanted} />`)}</td><td class="number" title=${more ? 'Older messages are not counted yet' : undefined}>${isNarrow.value ? said : many}</td><td class="whole-words"><${Age} at=${newest.at} /> ago</td><td class="open-with">${open.slice(0, LIMITS.open).map((thing) => html`<${Open} key=${thing.id} of=${thing} /> `)}${others > 0 && html`<span class="dim">+${others}</span>`}</td><td class="wide gist"><a href=${link(['messages', newest.id])}><${Gist} of=${newest} wanted=${wanted} /></a></td></tr>`
}

/** An open thing in words. A job has a page of its own. */
function Open({ of }) {
  const { kind, state, id, at } = of
  const badge = html`<${Badge} kind=${kindOf(of)}>${state} <${Age} at=${at} /><//>`
  return kind === 'job' ? html`<a href=${link(['jobs', id])}>${badge}</a>` : badge
}
