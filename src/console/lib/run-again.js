import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask, preview } from './parts.js'
import { count } from './troubles.js'

/** Maximum number of texts in a question. */
const MAX_TEXTS = 6

/**
 * Asks, then accepts messages again as new ones, oldest first, until one fails. Resolves with those
 * that were accepted.
 */
export async function runAgain(messages) {
  const many = messages.length
  const body = html`<p>Each is accepted as a new message of the same sender, and answered again in the same place.</p>
    <ul class="reasons">${messages.slice(0, MAX_TEXTS).map(({ id, subject, summary, text = '' }) => html`<li key=${id} class="one-line">${subject ?? summary ?? preview(text)}</li>`)}
    ${many > MAX_TEXTS && html`<li class="dim">and ${many - MAX_TEXTS} more</li>`}</ul>`
  const action = `Run ${count(many, 'message')} again`
  const accepted = []
  if (!(await ask({ title: `${action}?`, body, action }))) return accepted
  const verb = () => (accepted.length === 1 ? 'runs' : 'run')
  await act(async () => {
    for (const message of messages.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      await invoke('message-resend', { id: message.id }).catch((error) => {
        if (accepted.length === 0) throw error
        const done = `${accepted.length} of ${many} ${verb()} again`
        throw new Error(`${done}; the next one failed: ${error.message}`)
      })
      accepted.push(message)
    }
    return `${count(many, 'message')} ${verb()} again.`
  })
  return accepted
}
