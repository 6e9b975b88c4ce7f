import { invoke } from './api.js'
import { askReason } from './ask-reason.js'
import { html } from './html.js'
import { changes } from './live.js'
import { act } from './parts.js'
import { count } from './troubles.js'

/** Maximum number of texts in a question. */
const MAX_TEXTS = 6

/** Texts of dead letters, each in a line, in a question. */
export function Texts({ of }) {
  return html`<ul class="reasons">${of.slice(0, MAX_TEXTS).map(({ id, text }) => html`<li key=${id} class="one-line">${text}</li>`)}
    ${of.length > MAX_TEXTS && html`<li class="dim">and ${of.length - MAX_TEXTS} more</li>`}</ul>`
}

/**
 * Drops some dead letters (`{ id, queue, text }`) after a question with an optional reason.
 * Resolves with whether at least one was dropped. `note`: what the question also says.
 */
export async function dropLetters(letters, note) {
  const many = letters.length
  const title = `Drop ${count(many, 'dead letter')}?`
  const body = html`<p>They are removed permanently. Nobody gets them any more.</p>${note}<${Texts} of=${letters} />`
  const why = await askReason({ title, body, action: 'Drop', danger: true })
  if (!why) return false
  return act(async () => {
    const failures = []
    for (const { id, queue } of letters)
      await invoke('dead-letter-drop', { id, queue, ...why }).catch((error) => failures.push(error))
    changes.dead.value++
    if (failures.length === many) throw failures[0]
    const rest = failures.length > 0 ? ` ${failures.length} could not be dropped: ${failures[0].message}` : ''
    return `${count(many - failures.length, 'dead letter')} dropped.${rest}`
  })
}
