import { useRef, useState } from 'preact/hooks'
import { filterOf, wordsOf } from './filter-words.js'
import { html } from './html.js'
import { SearchBox } from './search-box.js'

/**
 * A search field whose words are parameters of the address. `fields`: `{ key, name, about, values()
 * }`, where `name` is the parameter that `key:` sets. `rest`: the parameter that words without a
 * key set. `set` gets the changed parameters. The other properties are those of `SearchBox`.
 */
export function FilterBox({ query, set, fields, rest, ...others }) {
  const [problem, setProblem] = useState()
  // The typed text is shown as long as it means what is in the address.
  const typed = useRef({ text: '', means: '' })
  const shown = wordsOf(query, fields, rest)
  const value = typed.current.means === shown ? typed.current.text : shown
  const change = (text) => {
    const { filter, error } = filterOf(text, fields, rest)
    setProblem(error)
    if (error) return
    typed.current = { text, means: wordsOf(filter, fields, rest) }
    set(filter)
  }
  return html`<${SearchBox} ...${others} value=${value} set=${change} fields=${fields} />
    ${problem && html`<p class="search-problem" role="alert">${problem}</p>`}`
}
