import { useEffect, useState } from 'preact/hooks'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { html } from './html.js'
import { Marked } from './marked.js'
import { Modal } from './modal.js'
import { useEntries, wordsIn } from './palette-entries.js'
import { phraseIn } from './palette-verbs.js'
import { markDirect, route } from './router.js'
import { wantedIn } from './wanted.js'

/**
 * Finds views, gateways, skills, conversations, messages and actions by name. `start`: the text so
 * far.
 */
export function Palette({ start, close }) {
  const [text, setText] = useState(start)
  const [at, setAt] = useState(0)
  const [isWaiting, setWaiting] = useState(false)
  const { entries, found } = useEntries(text.trim())
  const chosen = Math.min(at, entries.length - 1)
  const mustWait = at === 0 && !FILTERS.test(text) && isEarly(entries[0], found, phraseIn(text.trim()).verb)
  useEffect(() => {
    document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen, entries.length])
  const run = (entry) => {
    const { entry: page } = route.peek()
    close()
    entry?.run()
    if (entry && entry.kind !== 'this page' && route.peek().entry !== page) markDirect()
  }
  useEffect(() => {
    if (!isWaiting || mustWait) return undefined
    // Effects can run during a render, when another page cannot be rendered.
    const timer = setTimeout(() => run(entries[chosen]))
    return () => clearTimeout(timer)
  }, [isWaiting, mustWait])
  const press = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) {
      setWaiting(false)
      setAt(Math.min(Math.max(chosen + by, 0), entries.length - 1))
    } else if (event.key !== 'Enter') return
    else if (mustWait && (!isWaiting || event.repeat)) setWaiting(true)
    else run(entries[chosen])
    event.preventDefault()
  }
  const wanted = wantedIn({ search: wordsIn(pastedPerson(text)) })
  return html`<${Modal} class="palette" aria-label="Go to" leave=${close} onClick=${(event) => event.target.localName === 'dialog' && close()}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label="Go to a view, gateway, skill, conversation or message"
      aria-activedescendant=${entries.length > 0 ? `palette-${chosen}` : undefined} placeholder="Go to … (a name, an action, or a message id)" autocomplete="off" spellcheck=${false}
      value=${text} onKeyDown=${press} onInput=${(event) => {
        setText(event.target.value)
        setAt(0)
        setWaiting(false)
      }} />
    <ul id="palette-list" role="listbox" aria-label="What there is">${entries.map(
      (
        entry,
        index,
      ) => html`<li key=${`${entry.kind} ${entry.name} ${entry.about}`} id=${`palette-${index}`} role="option" aria-selected=${index === chosen}
        onPointerMove=${() => setAt(index)} onClick=${() => run(entry)}><span><${Marked} text=${entry.name} wanted=${wanted} /></span><span class="dim">${entry.about}</span><span class="dim kind">${entry.kind}</span></li>`,
    )}</ul>
    ${isWaiting && html`<p class="dim" role="status">Searching people and conversations … Enter again takes the first row at once.</p>`}
    ${entries.length === 0 && !isWaiting && html`<p class="dim">No matches.</p>`}
  <//>`
}

/** Whether a search has a filter such as `status:done`. Only messages have these filters. */
const FILTERS = /(^|\s)-?[a-z]+:\S/i

/**
 * Whether pending results, of people or others, may still replace the first entry. Enter right
 * after the last key waits for them.
 */
function isEarly(first, { entries, isPending, isPeoplePending }, verb) {
  if (verb && !first?.isOfVerb) return isPending
  if (!first || first.kind === 'search' || first.isLast || first.isInside) return isPending
  return isPeoplePending && entries.includes(first)
}
