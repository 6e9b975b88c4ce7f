import { html } from './html.js'
import { keysNow } from './keys.js'
import { Modal } from './modal.js'

/** Keys of the whole console; the others are of the page. */
const EVERYWHERE = /^[/?1-9]$/

/** The keys that have an effect on the current page. `commandKey`: the name of Ctrl here. */
export function KeyDialog({ commandKey, close }) {
  const keys = keysNow()
  const ofPage = keys.filter(([key]) => !EVERYWHERE.test(key))
  const views = keys.filter(([key]) => /^[1-9]$/.test(key))
  const everywhere = [
    [`${commandKey} K`, 'find anything by name'],
    ...keys.filter(([key]) => /^[/?]$/.test(key)),
    [`${commandKey} Enter`, 'confirms a dialog, sends an answer'],
    ['Escape', 'closes a dialog, leaves a field'],
  ]
  const rows = ofPage.some(([, what]) => what === 'next row') ? [['Enter', 'opens the row']] : []
  return html`<${Modal} class="keys" leave=${close} aria-labelledby="keys-title">
    <h2 id="keys-title">Keys</h2>
    ${ofPage.length > 0 && html`<h3>On this page</h3><${Keys} of=${[...ofPage, ...rows]} />`}
    <h3>Everywhere</h3><${Keys} of=${everywhere} />
    <h3>Views</h3><${Keys} of=${views} />
    <div class="buttons"><button type="button" onClick=${close}>Close</button></div>
  <//>`
}

function Keys({ of }) {
  return html`<dl class="facts">${of.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>`
}
