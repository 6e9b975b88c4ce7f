import { html } from './html.js'
import { searchKeys } from './search-keys.js'

/** A search field without keys or suggestions, whose text is passed to `set` with each letter. `toRows`: see `useFirstRow`. */
export function SearchField({ label, placeholder, value, set, toRows }) {
  const take = (event) => {
    toRows(false)
    set(event.target.value)
  }
  return html`<input type="search" aria-label=${label} placeholder=${placeholder} value=${value} spellcheck=${false} autocomplete="off" onInput=${take} onKeyDown=${searchKeys(toRows)} />`
}
