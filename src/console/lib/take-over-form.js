import { html } from './html.js'
import { isNarrow } from './live.js'
import { firstTime } from './pause-ends.js'

/** The value of the choice of another time. */
const OTHER = 'other'

/**
 * The reason and the end of a take-over. Unlike those of a pause, the ends are a choice: the usual one
 * is without an end, and the button of the dialog takes over. `draft`: a signal with `reason`, `end`
 * (index in `ends`) and `time`, the text of the field of another time.
 */
export function TakeOverFields({ draft, ends, fault }) {
  const { reason, end, time } = draft.value
  const set = (change) => {
    draft.value = { ...draft.value, ...change }
  }
  const choose = ({ target: { value } }) =>
    set(value === OTHER ? { time: firstTime() } : { end: Number(value), time: undefined })
  const usual = ends.findIndex(({ isDefault }) => isDefault)
  return html`<label>Reason (optional) <input autofocus=${!isNarrow.peek()} maxlength="200" value=${reason} onInput=${(event) => set({ reason: event.target.value })} /></label>
    <p class="how-long"><label>How long <select autofocus=${isNarrow.peek()} value=${time === undefined ? String(end ?? usual) : OTHER} onChange=${choose}>
      <option value=${String(usual)}>${ends[usual].label}</option>
      ${ends.map(({ label }, at) => at !== usual && html`<option key=${at} value=${String(at)}>${label}</option>`)}
      <option value=${OTHER}>until another time …</option></select></label></p>
    ${time !== undefined && html`<label>Date and time <input type="datetime-local" required value=${time} onInput=${(event) => set({ time: event.target.value })} /></label><p role="status" class="error">${fault.value}</p>`}`
}
