import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask, preview } from './parts.js'
import { count } from './troubles.js'

/** Maximum number of texts in a question. */
const MAX_TEXTS = 6

/**
 * Asks, then accepts messages again as new ones, oldest first. Resolves with whether all of them
 * were accepted.
 */
export async function runAgain(messages) {
  const many = messages.length
  const body = html`<p>Each is accepted as a new message of the same sender, and answered again in the same place.</p>
    <ul class="reasons">${messages.slice(0, MAX_TEXTS).map(({ id, subject, summary, text = '' }) => html`<li key=${id} class="one-line">${subject ?? summary ?? preview(text)}</li>`)}
    ${many > MAX_TEXTS && html`<li class="dim">and ${many - MAX_TEXTS} more</li>`}</ul>`
  const action = `Run ${count(many, 'message')} again`
  if (!(await ask({ title: `${action}?`, body, action }))) return false
  return act(async () => {
    const sorted = messages.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    let done = 0
    for (const { id } of sorted) {
      await invoke('message-resend', { id }).catch((error) => {
        throw done === 0 ? error : new Error(`${done} of ${many} run again; then: ${error.message}`)
      })
      done++
    }
    return `${count(done, 'message')} ${done === 1 ? 'runs' : 'run'} again.`
  })
}
