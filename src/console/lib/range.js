import { useState } from 'preact/hooks'
import { html } from './html.js'

/** Spans that end now, in the format of the API. */
export const RANGES = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
]
const CUSTOM = 'custom'

/** The bounds in the query of an address that are set, as arguments of an operation. */
export function boundsIn({ since, until }) {
  return { ...(since && { since }), ...(until && { until }) }
}

/**
 * Selects a time span. `query` has `since` and `until` in the format of the API; `set` gets both. A
 * span that ends now is kept as an age: an address with `since=1h` always means the last hour.
 * `ranges`: the offered spans. `normal`: the default span. Without it, there is a choice for any
 * time, with the label `all`.
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
    ${isCustom && html`<div class="range-ends">${write('since', 'From', since)}${write('until', 'Until', until)}<span class="error" role="status">${faultOf(timeIn(since), timeIn(until))}</span></div>`}`
}

/** Why nothing can be in a range; undefined for other ranges. */
function faultOf(since, until) {
  if (since > Date.now()) return 'From is in the future.'
  return until <= since ? 'Until is not after From.' : undefined
}

/** A time of an address as Unix ms; NaN for others, such as ages. */
function timeIn(text) {
  return /T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
}

/** Converts `2026-11-21T10:00:00Z` for a local time field; empty for an invalid time. */
function toLocal(text) {
  const at = timeIn(text)
  return Number.isNaN(at) ? '' : localField(at)
}

/** A time (Unix ms) for a local time field. */
export function localField(at) {
  const offset = new Date(at).getTimezoneOffset() * 60_000
  return new Date(at - offset).toISOString().slice(0, 19)
}

function fromLocal(text) {
  return text === '' ? '' : instant(new Date(text).getTime())
}

/** A time in the format of addresses. */
export function instant(ms) {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
