import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { Modal } from './modal.js'

/** Delay (ms) after the last key before searching. */
const SETTLE = 250

const WORDS = [
  ['refund "out of stock"', 'in the subject or the text, each of them'],
  ['from:ada', 'part of the id, name or address of the sender'],
  ['status:dead,retrying', 'how it stands'],
  ['gateway:shop', 'its gateway'],
  ['route:orders', 'the route that took it'],
  ['event:order.paid', 'its event name of a webhook or Slack'],
  ['after:2h', 'since a time or an age: after:2026-11-21T10:00'],
  ['before:yesterday', 'before a time'],
]

/** The search field. Its text is added to the address once typing pauses, or at once when the field loses the focus. */
export function SearchBox({ value, set, focus, label = 'Search messages' }) {
  const [text, setText] = useState(value)
  const [isHelp, setHelp] = useState(false)
  const input = useRef()
  // The user may have typed more since the address changed.
  const typed = useRef(value)
  useEffect(() => {
    if (value !== typed.current) setText(value)
    typed.current = value
  }, [value])
  useLayoutEffect(() => {
    if (focus) input.current.focus()
  }, [focus])
  // The latest `set`: other parts of the filter may change while typing pauses.
  const latest = useRef(set)
  latest.current = set
  const settle = () => {
    if (text === typed.current) return
    typed.current = text
    latest.current(text)
  }
  useEffect(() => {
    const timer = setTimeout(settle, SETTLE)
    return () => clearTimeout(timer)
  }, [text])
  return html`<div class="search-box">
    <input ref=${input} type="search" aria-label=${label} placeholder="Search: words, from:, status: …  /" value=${text} spellcheck=${false} autocomplete="off"
      onInput=${(event) => setText(event.target.value)} onBlur=${settle} onKeyDown=${(event) => event.key === 'Escape' && event.target.blur()} />
    <button type="button" class="small" aria-label="Help with search words" aria-haspopup="dialog" onClick=${() => setHelp(true)}>?</button>
    ${
      isHelp &&
      html`<${Modal} class="search-words" aria-label="Search words" leave=${() => setHelp(false)} onClick=${(event) => event.target.localName === 'dialog' && setHelp(false)}><b>Search words</b>
      <dl class="facts">${WORDS.map(([word, what]) => html`<div key=${word}><dt><code>${word}</code></dt><dd>${what}</dd></div>`)}</dl>
      <p class="dim">All of them must hold. The same words work in <code>trivium message list --search</code>.</p><//>`
    }
  </div>`
}

/** What the daemon found wrong with the search words; undefined for other errors. */
export function searchProblem(error) {
  return error?.details?.find(({ path }) => path === 'search')?.message
}
