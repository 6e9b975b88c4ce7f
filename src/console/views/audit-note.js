import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useLoaded } from '../lib/parts.js'

const NOTE = 'conversation-note'
/** How long (ms) before its entry a note may have been written. */
const WRITING = 5_000
const MAX_TEXT = 120

/** The first words of the note that an entry is about. The log has no texts: an erased note is gone. */
export function NoteText({ of: { action, status, at, target } }) {
  const isNote = action === NOTE && status === 'done'
  const { value } = useLoaded(
    async (signal) => (isNote ? readNote(target, at, signal).catch(() => undefined) : undefined),
    [isNote, at],
  )
  if (!value) return null
  const { text } = value
  return html`<q class="dim">${text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).trimEnd()} …` : text}</q>`
}

async function readNote({ gateway, conversation }, at, signal) {
  const { notes = [] } = await invoke('conversation-show', { gateway, conversation, limit: 1 }, signal)
  return notes.findLast((note) => note.at <= at && at - note.at < WRITING)
}
