import { useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Range } from '../lib/range.js'
import { ORDERS_SAID, orderOf } from './senders-table.js'

/** What `open` in the address means, by the group of an open thing. */
const SHOWN = [
  ['', 'Everyone'],
  ['any', 'Something open'],
  ['failed', 'Failed'],
  ['answer', 'Unanswered'],
  ['approval', 'Approval'],
  ['held', 'Taken over'],
  ['paused', 'Paused'],
]

/**
 * The filter of the list. A phone has no room for tabs and column headers, so there it folds the
 * gateway and the time, and adds menus for the state and the order.
 */
export function PeopleFilter({ filter, set, open }) {
  const chosen = [filter.gateway, filter.since ?? filter.until].filter(Boolean).length
  const [isOpen, setOpen] = useState(chosen > 0)
  if (!isNarrow.value) return html`<${Range} query=${filter} set=${set} />`
  const orders = ORDERS_SAID.map(([key, said]) => ({ key, said }))
  const shown = SHOWN.map(([key, said]) => ({ key, said: `${said}${numberOf(key, open)}` }))
  return html`<${Pick} label="Show" value=${filter.open ?? ''} options=${shown} set=${(key) => set({ open: key })} />
    <${Pick} label="Sorted by" value=${orderOf(filter)} options=${orders} set=${(key) => set({ sort: key })} />
    <button type="button" class="more-filters" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Filter${chosen > 0 && html` <span class="count">${chosen}</span>`}</button>
    ${isOpen && html`<${Range} query=${filter} set=${set} />`}`
}

function Pick({ label, value, options, set }) {
  return html`<label class="pick"><span>${label}</span><select value=${value} onChange=${(event) => set(event.target.value)}>${options.map(({ key, said }) => html`<option key=${key} value=${key}>${said}</option>`)}</select></label>`
}

function numberOf(key, open) {
  return key === '' ? '' : ` (${open.countOf(key).toLocaleString('en')})`
}

/** What is open with people, with their number. */
export function OpenTabs({ filter, set, open }) {
  return html`<div class="bar inbox"><div class="segments" role="group" aria-label="Open">${SHOWN.map(
    ([key, title]) =>
      html`<button key=${key} type="button" aria-pressed=${(filter.open ?? '') === key} onClick=${() => set({ open: key })}>${title}${key !== '' && open.countOf(key) > 0 && html` <span class="count">${open.countOf(key).toLocaleString('en')}</span>`}</button>`,
  )}</div></div>`
}
