import { html } from './html.js'

/** A text with its matches marked. */
export function Marked({ text, wanted }) {
  if (!wanted || !text) return text
  return text
    .split(wanted)
    .map((part, at) => (at % 2 === 1 ? html`<mark key=${at} class="found">${part}</mark>` : part))
}
