import { html } from '../lib/html.js'
import { When } from './audit-parts.js'

/** What was before and after, side by side. */
export function Changes({ of, label = 'Changes' }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${label}><table class="changed"><thead><tr><th scope="col">what</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
    <tbody>${Object.entries(of).map(([name, { before, after }]) => html`<tr key=${name}><td><b>${name}</b></td><td class="before"><${State} of=${before} /></td><td class="after"><${State} of=${after} /></td></tr>`)}</tbody></table></div>`
}

const TIMES = new Set(['since', 'until'])

function State({ of }) {
  if (of === null) return html`<span class="dim">none</span>`
  if (typeof of !== 'object' || Array.isArray(of)) return typeof of === 'string' ? of : JSON.stringify(of)
  return html`<dl class="facts">${Object.entries(of).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${TIMES.has(name) ? html`<${When} at=${value} />` : typeof value === 'string' ? value : JSON.stringify(value)}</dd></div>`)}</dl>`
}
