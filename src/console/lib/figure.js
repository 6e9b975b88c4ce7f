import { html } from './html.js'

/** A number with its name above it, and a note below it. */
export function Figure({ name, value, isBad = false, note }) {
  return html`<div class="figure"><span class="dim">${name}</span><b class=${isBad ? 'bad' : ''}>${value}</b>${note && html`<span class="dim">${note}</span>`}</div>`
}
