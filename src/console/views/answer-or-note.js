import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { useDraft } from '../lib/drafts.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { act, useOnce } from '../lib/parts.js'
import { Answer } from './answer.js'

/** Interval (ms) of polling for notes of colleagues: the stream has no event for them. */
const NOTES_INTERVAL = 20_000
/** Maximum characters of a note. */
const MAX_NOTE = 10_000

/**
 * The field to answer or, after a switch, to write a note for colleagues. Each has its own draft.
 * Without `canAnswer`, the button of the note shows and hides its field. `next` leads to the next
 * conversation.
 */
export function AnswerOrNote({ of, asked, canAnswer, done, next }) {
  /** `turn` counts the switches: after each, the field has the focus. */
  const [{ isNote, turn }, set] = useState({ isNote: false, turn: 0 })
  const go = (isNote) => set((last) => ({ isNote, turn: last.turn + 1 }))
  const box = useRef()
  useLayoutEffect(() => {
    if (turn > 0) box.current.querySelector('textarea')?.focus()
  }, [turn])
  useLayoutEffect(() => {
    if (isViewer.value) return
    const ends = [onKey('n', 'note for colleagues', () => go(true))]
    // The field of the answer itself has this key.
    if (isNote) ends.push(onKey('r', 'answer', () => go(false)))
    return () => {
      for (const end of ends) end()
    }
  }, [isNote])
  useEffect(() => {
    const timer = setInterval(() => document.hidden || done(), NOTES_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const answer = canAnswer && html`<${Answer} of=${of} asked=${asked} done=${done} />`
  if (isViewer.value) return html`${next}${answer}`
  const { gateway, conversation } = asked
  return html`<div ref=${box} class="answer-or-note">
    <div class="bar"><div class="segments" role="group" aria-label="What you write">
      ${canAnswer && html`<button type="button" class="small" aria-pressed=${!isNote} onClick=${() => go(false)}>Answer</button>`}
      <button type="button" class="small to-note" aria-pressed=${isNote} onClick=${() => go(canAnswer || !isNote)}>Note</button></div>${next}</div>
    ${isNote ? html`<${NoteForm} key="note" gateway=${gateway} conversation=${conversation} done=${done} />` : answer}
  </div>`
}

function NoteForm({ gateway, conversation, done }) {
  const [text, setText] = useDraft('note', gateway, conversation)
  const [isBusy, once] = useOnce()
  const add = async () => {
    if (text.trim() === '') return
    const isAdded = await act(async () => {
      await invoke('conversation-note', { gateway, conversation, text })
      return 'The note is added. Nothing was sent.'
    })
    if (!isAdded) return
    setText('')
    done()
  }
  const submit = (event) => {
    event.preventDefault()
    once(add)
  }
  const press = (event) => {
    if (event.key === 'Escape') event.target.blur()
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
  }
  return html`<form class="answer note-form" onSubmit=${submit}>
    <label>Note: only colleagues see it<textarea rows="2" required maxlength=${MAX_NOTE} value=${text} onKeyDown=${press} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <div class="buttons"><span class="dim wide"><kbd>n</kbd> goes here, <kbd>Ctrl</kbd> <kbd>Enter</kbd> adds it.</span><button changes class="primary" aria-disabled=${isBusy}>Add note</button></div>
  </form>`
}
