import { html } from './html.js'

/** Characters that are invalid in a reference of `person-erase`. */
const NOT_IN_REFERENCE = /[\s@]/

export const isNoReference = (text) => NOT_IN_REFERENCE.test(text)

/** The last reference that was given, and whose erasure it was for. */
let last = { of: '', text: '' }

/** The reference of another erasure for the same person, as one request may need two. */
export const referenceOf = (who) => (last.of === who.join('\n') ? last.text : '')

export function keepReference(who, text) {
  last = { of: who.join('\n'), text }
}

/** The field for the request number. It reports invalid characters immediately. */
export function Reference({ value, isRefused }) {
  const hint = isRefused.value
    ? 'No spaces and no mail address: it is kept with the proof, after the person is erased.'
    : 'A ticket number or a link. It is kept with the proof.'
  return html`<label>Number of the request (optional) <input autocomplete="off" maxlength="200" defaultValue=${value.peek()} placeholder="GDPR-17" aria-invalid=${isRefused.value} aria-describedby="reference-hint" onInput=${(
    event,
  ) => {
    value.value = event.target.value.trim()
  }} /></label><p id="reference-hint" class=${isRefused.value ? 'error' : 'hint'} role="status">${hint}</p>`
}
