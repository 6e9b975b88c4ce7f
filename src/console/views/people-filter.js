import { useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import { Range } from '../lib/range.js'
import { orderOf, ordersSaid, sortFor } from './senders-table.js'

/** What `open` in the address means, by the group of an open thing. */
const SHOWN = [
  ['', 'Everyone'],
  ['any', 'Something open'],
  ['failed', 'Failed'],
  ['answer', 'Unanswered'],
  ['approval', 'Approval'],
  ['held', 'Taken over'],
  ['paused', 'Paused'],
  ['retrying', 'Retrying'],
]

/**
 * The filter and the order of the list. A phone has no room for tabs, so there it folds the gateway and
 * the time, and adds a menu for the state. `countOf`: see `useSenders`.
 */
export function PeopleFilter({ filter, set, countOf }) {
  const chosen = [filter.gateway, filter.since ?? filter.until].filter(Boolean).length
  const [isOpen, setOpen] = useState(chosen > 0)
  const orders = ordersSaid(filter).map(([key, said]) => ({ key, said }))
  const sorted = html`<${Pick} label="Sorted by" value=${orderOf(filter)} options=${orders} set=${(order) => set({ sort: sortFor(order, filter) })} />`
  if (!isNarrow.value) return html`<${Range} query=${filter} set=${set} />${sorted}`
  const shown = SHOWN.map(([key, said]) => ({
    key,
    said: `${key === 'any' ? 'Open' : said}${numberOf(key, countOf)}`,
  }))
  return html`<${Pick} label="Show" value=${filter.open ?? ''} options=${shown} set=${(key) => set(showing(key, filter))} />
    ${sorted}
    <button type="button" class="more-filters" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>Filter${chosen > 0 && html` <span class="count">${chosen}</span>`}</button>
    ${isOpen && html`<${Range} query=${filter} set=${set} />`}`
}

/**
 * Changes the filter for open items. Each filter starts with its own order, but who wrote most is a
 * question of its own.
 */
function showing(open, { sort }) {
  const isKept = sort === 'wrote' && ordersSaid({ open }).some(([key]) => key === sort)
  return { open, sort: isKept ? sort : undefined }
}

function Pick({ label, value, options, set }) {
  return html`<label class="pick"><span>${label}</span><select value=${value} onChange=${(event) => set(event.target.value)}>${options.map(({ key, said }) => html`<option key=${key} value=${key}>${said}</option>`)}</select></label>`
}

function numberOf(key, countOf) {
  return key === '' ? '' : ` (${countOf(key).toLocaleString('en')})`
}

/** The kinds of open items, each with the number of people in this list. */
export function OpenTabs({ filter, set, countOf }) {
  return html`<div class="bar inbox"><div class="segments" role="group" aria-label="Open">${SHOWN.map(
    ([key, title]) =>
      html`<button key=${key} type="button" aria-pressed=${(filter.open ?? '') === key} onClick=${() => set(showing(key, filter))}>${title}${key !== '' && countOf(key) > 0 && html` <span class="count">${countOf(key).toLocaleString('en')}</span>`}</button>`,
  )}</div></div>`
}
