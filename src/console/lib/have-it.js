import { signal } from '@preact/signals'
import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask } from './parts.js'

const HOUR = 3_600_000
/** The hour (local time) of the choice for tomorrow. */
const MORNING = 9

/** The choices for how long somebody has a trouble: value and label. */
const ENDS = [
  ['', 'it ends or gets worse'],
  ['1', 'in an hour'],
  ['4', 'in 4 hours'],
  ['morning', `tomorrow at ${MORNING}:00`],
]

/** The duration (ms) of a choice; undefined without an end. */
function durationOf(end, at = Date.now()) {
  if (end === '') return undefined
  if (end !== 'morning') return Number(end) * HOUR
  const day = new Date(at)
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1, MORNING).getTime() - at
}

/** Asks for a note and an end, then tells everybody that this person takes care of a trouble. */
export async function takeTrouble({ id, title }) {
  const draft = signal({ reason: '', end: '' })
  const body = html`<p>${title}</p><${Fields} draft=${draft} />`
  if (!(await ask({ title: 'Take care of this problem?', body, action: 'I have it' }))) return
  const { reason, end } = draft.value
  const duration = durationOf(end)
  await act(async () => {
    const note = reason.trim()
    await invoke('trouble-acknowledge', {
      id,
      ...(note && { reason: note }),
      ...(duration && { for: duration }),
    })
    return 'Everybody sees that you have it.'
  })
}

function Fields({ draft }) {
  const set = (change) => {
    draft.value = { ...draft.value, ...change }
  }
  return html`<label>What are you doing about it? (optional) <input data-confirms maxlength="200" value=${draft.value.reason} onInput=${(event) => set({ reason: event.target.value })} /></label>
    <label>Until <select onChange=${(event) => set({ end: event.target.value })}>${ENDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select></label>`
}
