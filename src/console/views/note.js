import { invoke, isViewer } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { clockOf } from '../lib/clock-of.js'
import { html } from '../lib/html.js'
import { act, ask } from '../lib/parts.js'

/** The messages and replies of a conversation with its notes, and who took it over, by time. */
export function withNotes({ entries, notes = [], handovers = [] }) {
  const shown = notes.map((note) => ({ ...note, role: 'note' }))
  return [...entries, ...shown, ...handovers.flatMap(stepsOf)].sort((a, b) => a.at - b.at)
}

/** The begin of a take-over and, once it is over, its end. */
function stepsOf({ endedAt, endedBy, ...begin }) {
  const end = { role: 'handover', at: endedAt, by: endedBy, isEnd: true }
  return [{ ...begin, role: 'handover' }, ...(endedAt === undefined ? [] : [end])]
}

/** A line of the chat: who took the conversation over, or handed it back. `when`: its time. */
export function Handover({ of: { by, until, reason, isEnd }, when }) {
  const author = authorOf(by)
  if (isEnd)
    return html`<li class="request handover"><p><b>${author ? 'Handed back' : 'The take-over ended by itself'}</b>${author && ` by ${author}`} · ${when}</p></li>`
  return html`<li class="request handover"><p><b>Taken over</b> by ${author ?? 'somebody'} · ${when}${until !== undefined && `, until ${clockOf(until)}`}${reason && html`: <span class="said-reason">${reason}</span>`}</p></li>`
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
