import { useState } from 'preact/hooks'
import { html } from './html.js'

/** Spans that end now, as the API takes them. */
export const RANGES = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
]
const CUSTOM = 'custom'

/**
 * Picks a span of time: `query` has `since` and `until`, as the API takes them, and `set` gets both. A span that ends now is kept as how
 * long ago it began, so that the address shows the last hour tomorrow too. `ranges` are those that are offered; `all` is the name of the
 * choice without a span, where there is one, and otherwise `normal` the span that is meant without one.
 */
export function Range({
  query: { since = '', until = '' },
  set,
  ranges = RANGES,
  all = 'any time',
  normal = '',
}) {
  const [isOpen, setOpen] = useState(false)
  const isKnown = until === '' && (since === '' || ranges.some(([value]) => value === since))
  const isCustom = isOpen || !isKnown
  const pick = (value) => {
    setOpen(value === CUSTOM)
    if (value !== CUSTOM) set({ since: value === normal ? '' : value, until: '' })
  }
  const write = (name, label, value) => html`<label class="pick"><span>${label}</span>
    <input type="datetime-local" step="1" value=${toLocal(value)} onChange=${(event) => set({ since, until, [name]: fromLocal(event.target.value) })} /></label>`
  return html`<label class="pick"><span>Time</span>
      <select value=${isCustom ? CUSTOM : since || normal} onChange=${(event) => pick(event.target.value)}>
        ${normal === '' && html`<option value="">${all}</option>`}${ranges.map(([value, shown]) => html`<option key=${value} value=${value}>${shown}</option>`)}
        <option value=${CUSTOM}>custom …</option>
      </select></label>
    ${isCustom && html`${write('since', 'From', since)}${write('until', 'Until', until)}`}`
}

/** `2026-11-21T10:00:00Z` as a field for local times has it; empty for what is no such time. */
function toLocal(text) {
  const at = /T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) return ''
  const offset = new Date(at).getTimezoneOffset() * 60_000
  return new Date(at - offset).toISOString().slice(0, 19)
}

function fromLocal(text) {
  return text === '' ? '' : instant(new Date(text).getTime())
}

/** A time as the address has it. */
export function instant(ms) {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
