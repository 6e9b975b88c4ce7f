import { useState } from 'preact/hooks'
import { html } from './html.js'
import { later } from './later-file.js'
import { route } from './router.js'

const RangeEnds = later.part('RangeEnds')

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
 * time, with the label `all`. `inSearch`: the times in the words of a search, shown as the choice if
 * `query` has none.
 */
export function Range({
  query: { since = '', until = '' },
  set,
  ranges = RANGES,
  all = 'any time',
  normal = '',
  inSearch,
}) {
  // Typing in the search stays on the page. Reopening the page is another visit.
  const { entry, visit } = route.value
  const [openedIn, setOpenedIn] = useState()
  const isOpen = openedIn === `${entry} ${visit}`
  const isKnown = until === '' && (since === '' || ranges.some(([value]) => value === since))
  const isCustom = isOpen || !isKnown
  const searched = since || until ? undefined : inSearch
  const isSpan = ranges.some(([value]) => value === searched)
  const pick = (value) => {
    setOpenedIn(value === CUSTOM ? `${entry} ${visit}` : undefined)
    if (value !== CUSTOM && value !== searched) set({ since: value === normal ? '' : value, until: '' })
  }
  return html`<label class="pick"><span>Time</span>
      <select value=${isCustom ? CUSTOM : searched || since || normal} onChange=${(event) => pick(event.target.value)}>
        ${normal === '' && html`<option value="">${all}</option>`}${ranges.map(([value, shown]) => html`<option key=${value} value=${value}>${shown}</option>`)}
        ${searched && !isSpan && html`<option value=${searched}>${searched}</option>`}<option value=${CUSTOM}>custom …</option>
      </select></label>
    ${isCustom && html`<${RangeEnds} since=${since || normal} until=${until} all=${all} set=${set} />`}`
}

/** A time of an address as Unix ms; NaN for others, such as ages. */
export function timeIn(text) {
  return /T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
}

/** A time (Unix ms) for a local time field. */
export function localField(at) {
  const offset = new Date(at).getTimezoneOffset() * 60_000
  return new Date(at - offset).toISOString().slice(0, 19)
}

/** A time in the format of addresses. */
export function instant(ms) {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
