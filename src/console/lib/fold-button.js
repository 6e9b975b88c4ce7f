import { html } from './html.js'
import { isNarrow } from './live.js'

/** On a phone: unfolds the filters of a list. `chosen`: how many of them are set. */
export function FoldButton({ isOpen, chosen, toggle }) {
  if (!isNarrow.value) return null
  return html`<button type="button" aria-expanded=${isOpen} onClick=${toggle}>Filter${chosen > 0 && html` <span class="count">${chosen}</span>`}</button>`
}
