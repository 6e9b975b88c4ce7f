import { invoke, isViewer } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { act, ask } from '../lib/parts.js'

/** The messages and replies of a conversation with its notes, by time. */
export function withNotes({ entries, notes = [] }) {
  const shown = notes.map((note) => ({ ...note, role: 'note' }))
  return [...entries, ...shown].sort((a, b) => a.at - b.at)
}

/** A note for colleagues in the chat. `when`: its time. The children are its text. */
export function Note({ of: { id, by }, when, reload, children }) {
  const author = authorOf(by) ?? 'somebody'
  const remove = async () => {
    const title = isOwn(by) ? 'Delete your note?' : `Delete the note of ${author}?`
    const body = 'Then nobody can read it any more.'
    if (!(await ask({ title, body, action: 'Delete the note', danger: true }))) return
    await act(async () => {
      await invoke('conversation-note-delete', { id })
      return 'The note is deleted.'
    })
    reload()
  }
  return html`<li class="note"><p class="who"><b>Note</b> of ${author} · ${when} · only colleagues see it${!isViewer.value && html` · <button changes type="button" class="linkish" aria-label=${`Delete the note of ${author}`} onClick=${remove}>Delete …</button>`}</p>
    ${children}</li>`
}
