import { invoke } from './api.js'
import { html } from './html.js'
import { Age, act, ask, Badge, useLoaded } from './parts.js'

/** Asks, then cancels the running attempt on a message. */
export async function cancelRun(id) {
  const title = 'Cancel this attempt?'
  const body = 'It ends now, and the message becomes a dead letter that can be retried.'
  if (!(await ask({ title, body, action: 'Cancel the attempt', leave: 'Keep running', danger: true }))) return
  await act(async () => {
    const { cancelled, outcome } = await invoke('run-cancel', { messageId: id })
    return cancelled ? 'The attempt was cancelled.' : `The attempt had already ended: ${outcome}.`
  })
}

/** Starts the next attempt on a message in back-off. */
export function retryNow(id) {
  return act(async () => {
    await invoke('message-retry', { id })
    return 'The next attempt begins now.'
  })
}

/** Cancels the running attempt on a message. */
export function CancelRun({ id, done }) {
  return html`<button changes type="button" onClick=${() => cancelRun(id).then(done)}>Cancel the attempt …</button>`
}

/** The effect of each kind of pause. */
const WAITS = {
  gateway: 'Its messages are accepted, but wait.',
  route: 'Its messages are accepted, but wait, and so do later ones of the same conversations.',
  skill:
    'Messages of all its routes are accepted, but wait, and so do its schedules. Direct calls still run.',
  conversation: 'Its messages are accepted, but wait: no skill runs for them.',
}

/** When a pause ends by itself. */
const ENDS = [
  ['', 'it is resumed'],
  ['15m', 'in 15 minutes'],
  ['1h', 'in an hour'],
  ['4h', 'in 4 hours'],
  ['24h', 'in a day'],
]

/** Asks for a reason and an end, then pauses. Resolves with whether it is paused. `of`: arguments of the operation. */
export async function pauseWith({ kind, of, name, action = 'Pause' }) {
  let reason = ''
  let end = ''
  const body = html`<p>${WAITS[kind]}</p>
    <label>Reason (optional) <input data-confirms maxlength="200" onInput=${(event) => {
      reason = event.target.value.trim()
    }} /></label>
    <label>Until <select onChange=${(event) => {
      end = event.target.value
    }}>${ENDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select></label>`
  if (!(await ask({ title: `${action}: ${kind} ${name}?`, body, action }))) return false
  return act(async () => {
    await invoke(`${kind}-pause`, { ...of, ...(reason && { reason }), ...(end && { for: end }) })
    return WAITS[kind]
  })
}

/** A button that pauses or resumes. `kind`: of the operations; `of`: their arguments; `pill`: whether it marks what is paused. */
export function Pause({ kind, of, name, words = ['Pause', 'Resume'], pill = true }) {
  const {
    value: pauses,
    error,
    reload,
  } = useLoaded((signal) => invoke('pause-list', {}, signal), [kind, name])
  // Whether it is paused is not known: neither is offered.
  if (!pauses)
    return error
      ? html`<button type="button" title=${error.message} onClick=${reload}>Paused? Try again</button>`
      : null
  const found = pauses.find(
    (each) =>
      each.kind === kind && each.name === name && (kind !== 'conversation' || each.gateway === of.gateway),
  )
  const resume = () =>
    act(async () => {
      await invoke(`${kind}-resume`, of)
      return 'Its messages are dispatched again.'
    })
  const change = async () => {
    await (found ? resume() : pauseWith({ kind, of, name, action: words[0] }))
    reload()
  }
  const why =
    found &&
    html`by ${found.by ?? 'somebody'} for <${Age} at=${found.since} />${found.reason ? `: ${found.reason}` : ''}`
  return html`${found && html`<span class="paused-by">${pill && html`<${Badge} kind="warn">paused<//>`} <span class="dim">${pill ? why : html`Paused ${why}`}</span></span>`}
    <button changes type="button" aria-label=${`${words[Number(Boolean(found))]} ${kind} ${name}`} onClick=${change}>${words[Number(Boolean(found))]}${found ? '' : ' …'}</button>`
}
