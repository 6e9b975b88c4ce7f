import { html } from '../lib/html.js'
import { Marked } from '../lib/marked.js'
import { openSince } from '../lib/open-by-person.js'
import { Age, Badge, Gist } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** How the columns are sorted. The newest message comes first without another order. */
const ORDERS = {
  sender: (a, b) => labelOf(a).localeCompare(labelOf(b)),
  messages: (a, b) => b.messages - a.messages,
  last: (a, b) => b.newest.at - a.newest.at,
  open: compareOpen,
}
const DEFAULT = 'last'

/** Who waits longest comes first, and people with nothing open last, newest first. */
function compareOpen(a, b) {
  const [one, other] = [openSince(a.open), openSince(b.open)]
  return one === other ? b.newest.at - a.newest.at : one - other
}

/** Maximum number of open things that a row names. */
const MAX_OPEN = 2

/**
 * The senders with what is `open` with them. `set` changes the order, which is `sort`; without it,
 * the columns have no buttons. `counted`: of what the numbers are.
 */
export function SendersTable({ people, wanted, counted, caption, sort = DEFAULT, set }) {
  const rows = people.toSorted(ORDERS[sort] ?? ORDERS[DEFAULT])
  const column = (key, title, name = '') =>
    html`<th scope="col" class=${name} aria-sort=${set && key === sort ? (key === 'sender' ? 'ascending' : 'descending') : undefined}>${set ? html`<button type="button" class="sorts" onClick=${() => set(key === DEFAULT ? undefined : key)}>${title}${key === sort ? ' ↓' : ''}</button>` : title}</th>`
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
    <caption>${caption}</caption>
    <thead><tr>${column('sender', 'sender')}<th scope="col">gateway</th>${column('messages', counted, 'number')}${column('last', 'last')}${column('open', 'open')}<th scope="col" class="wide">last message</th></tr></thead>
    <tbody>${rows.map((person) => html`<${Row} key=${person.identity} of=${person} wanted=${wanted} counted=${counted} />`)}</tbody></table></div>`
}

const labelOf = ({ shown, name }) => shown ?? name

function Row({ of: { identity, gateways, name, shown, newest, messages, open }, wanted, counted }) {
  const more = open.length - MAX_OPEN
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${shown && html`<${Marked} text=${shown} wanted=${wanted} /> · `}<${Marked} text=${name} wanted=${wanted} /></a></td><td>${[...gateways].join(', ')}</td><td class="number" data-label=${counted}>${messages > 0 ? messages.toLocaleString('en') : 'none'}</td><td class="whole-words"><${Age} at=${newest.at} /> ago</td><td class="open-with">${open.slice(0, MAX_OPEN).map(({ word, kind, at }) => html`<${Badge} key=${`${word} ${at}`} kind=${kind}>${word} <${Age} at=${at} /><//> `)}${more > 0 && html`<span class="dim">+${more}</span>`}</td><td class="wide gist"><a href=${link(['messages', newest.id])}><${Gist} of=${newest} /></a></td></tr>`
}
