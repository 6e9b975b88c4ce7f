import { html } from './html.js'
import { keysNow } from './keys.js'
import { Modal } from './modal.js'

/** The keys of the current view, with their effects. `commandKey`: the name of Ctrl here. */
export function KeyDialog({ commandKey, close }) {
  return html`<${Modal} leave=${close} aria-labelledby="keys-title">
    <h2 id="keys-title">Keys</h2>
    <dl class="facts">${keysNow().map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}
      <div><dt><kbd>Enter</kbd></dt><dd>opens the row</dd></div>
      <div><dt><kbd>${commandKey} K</kbd></dt><dd>find anything by name</dd></div></dl>
    <div class="buttons"><button type="button" onClick=${close}>Close</button></div>
  <//>`
}
