import { html } from './html.js'
import { ask } from './parts.js'

/**
 * Asks a question with an optional reason. Resolves with `{ reason }`, or `{}` without one;
 * undefined if the answer is no.
 */
export async function askReason({ body, ...question }) {
  const { field, given } = reasonField()
  return (await ask({ ...question, body: html`${body}${field}` })) ? given() : undefined
}

/** A field for an optional reason within a question, and what `given()` there. */
export function reasonField() {
  let reason = ''
  const field = html`<label>Reason (optional) <input data-confirms maxlength="200" onInput=${(event) => {
    reason = event.target.value.trim()
  }} /></label>`
  return { field, given: () => (reason ? { reason } : {}) }
}
