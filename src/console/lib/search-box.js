import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { Modal } from './modal.js'
import { searchKeys } from './search-keys.js'
import { isUnfinished, suggestionsFor } from './suggest.js'

/** Delay (ms) after the last key before searching. */
const SETTLE = 250
let boxes = 0

/**
 * A search field. Passes its text to `set` once typing pauses, or when the field loses the focus.
 * `fields`: the known keys, `{ key, about, values() }`, which are suggested during typing. `words`:
 * other examples for the help, `[text, meaning]`; `also`: the last sentence of the help. `toRows`: see
 * `useFirstRow`.
 */
export function SearchBox({ value, set, focus, label, placeholder, fields, words = [], also, toRows }) {
  const [text, setText] = useState(value)
  const [isHelp, setHelp] = useState(false)
  const input = useRef()
  // The text last passed to `set`. When it comes back as `value`, the user may have typed more.
  const settled = useRef(value)
  // Before the next key, whose text would be lost.
  useLayoutEffect(() => {
    if (value !== settled.current) setText(value)
    settled.current = value
  }, [value])
  useLayoutEffect(() => {
    if (focus) input.current.focus()
  }, [focus])
  // The latest `set`: other parts of the filter may change while typing pauses.
  const latest = useRef(set)
  latest.current = set
  // The last keystroke may not be rendered yet.
  const settle = (typed = text) => {
    if (typed === settled.current) return
    settled.current = typed
    latest.current(typed)
  }
  useLayoutEffect(() => {
    // The value of the last key is about to be typed or selected.
    if (isUnfinished(text) && document.activeElement === input.current) return undefined
    const timer = setTimeout(() => settle(), SETTLE)
    return () => clearTimeout(timer)
  }, [text])
  const suggest = useSuggestions({ input, text, setText, fields })
  return html`<div class="search-box">
    <input ref=${input} type="search" aria-label=${label} placeholder=${placeholder} value=${text} spellcheck=${false} autocomplete="off" ...${suggest.attributes}
      onInput=${(event) => {
        setText(event.target.value)
        toRows?.(false)
        suggest.open()
      }} onBlur=${(event) => {
        suggest.close()
        settle(event.target.value)
      }} onKeyDown=${(event) => {
        if (suggest.key(event)) return event.preventDefault()
        if (event.key === 'Enter') settle(event.target.value)
        searchKeys(toRows)(event)
      }} />
    <button type="button" class="small" aria-label="Help with search words" aria-haspopup="dialog" onClick=${() => setHelp(true)}>?</button>
    <${Suggestions} of=${suggest} />
    ${isHelp && html`<${Help} ...${{ fields, words, also }} leave=${() => setHelp(false)} />`}
  </div>`
}

function Help({ fields, words, also, leave }) {
  const rows = [...words, ...fields.map(({ key, example, about }) => [`${key}:${example ?? ''}`, about])]
  return html`<${Modal} class="search-words" aria-label="Search words" leave=${leave} onClick=${(event) => event.target.localName === 'dialog' && leave()}><b>Search words</b>
    <dl class="facts" tabindex="0">${rows.map(([word, what]) => html`<div key=${word}><dt><code>${word}</code></dt><dd>${what}</dd></div>`)}</dl>
    <p class="dim">All of them must hold. Type <code>:</code> to see the keys, and a key to see its values.${also}</p><//>`
}

/** The suggestions for the word at the caret, and the keys that select one. */
function useSuggestions({ input, text, setText, fields }) {
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const [id] = useState(() => `suggestions-${boxes++}`)
  const [, moved] = useReducer((count) => count + 1, 0)
  const caret = input.current?.selectionStart ?? text.length
  const { options, hint } = isOpen ? suggestionsFor(text, caret, fields) : { options: [] }
  const close = () => setOpen(false)
  const open = () => {
    setActive(-1)
    setOpen(true)
  }
  const accept = ({ insert, start, end }) => {
    setText(text.slice(0, start) + insert + text.slice(end).trimStart())
    setActive(-1)
    requestAnimationFrame(() => {
      input.current?.focus()
      input.current?.setSelectionRange(start + insert.length, start + insert.length)
      // The suggestions are those at the caret, which may be all that has changed.
      moved()
      // After a key, its values are suggested.
      setOpen(insert.endsWith(':'))
    })
  }
  const key = ({ key }) => {
    if (options.length === 0) return false
    const move = { ArrowDown: 1, ArrowUp: -1 }[key]
    // From no option (-1), up leads to the last one.
    if (move) setActive((active + move + options.length + (active < 0 && move < 0 ? 1 : 0)) % options.length)
    else if (key === 'Escape') close()
    else if ((key === 'Enter' || key === 'Tab') && options[active]) accept(options[active])
    else return false
    return true
  }
  const isShown = options.length > 0
  const attributes = {
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': String(isShown),
    'aria-controls': isShown ? id : undefined,
    'aria-activedescendant': active >= 0 && isShown ? `${id}-${active}` : undefined,
  }
  return { id, options, hint, active, accept, key, open, close, attributes }
}

function Suggestions({ of: { id, options, hint, active, accept } }) {
  if (options.length === 0) return hint ? html`<p class="suggestions hint">${hint}</p>` : null
  // The press of the mouse must not take the focus away.
  return html`<ul class="suggestions" id=${id} role="listbox" aria-label="Suggestions">${options.map(
    (option, at) =>
      html`<li key=${option.text} id=${`${id}-${at}`} role="option" aria-selected=${at === active ? 'true' : 'false'} onMouseDown=${(event) => event.preventDefault()} onClick=${() => accept(option)}><code>${option.text}</code>${option.about && html` <span class="dim">${option.about}</span>`}</li>`,
  )}</ul>`
}

/** What the daemon found wrong with the search words; undefined for other errors. */
export function searchProblem(error) {
  return error?.details?.find(({ path }) => path === 'search')?.message
}
