import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask, say, span, useOnce } from './parts.js'
import { usePauses } from './pauses.js'

/** Asks, then cancels the running attempt on a message. */
export async function cancelRun(id) {
  const title = 'Cancel this attempt?'
  let reason = ''
  const body = html`<p>It ends now, and the message becomes a dead letter that can be retried.</p>
    <label>Reason (optional) <input data-confirms maxlength="200" onInput=${(event) => {
      reason = event.target.value.trim()
    }} /></label>`
  if (!(await ask({ title, body, action: 'Cancel the attempt', leave: 'Keep running', danger: true }))) return
  await act(async () => {
    const { cancelled, outcome } = await invoke('run-cancel', { messageId: id, ...(reason && { reason }) })
    return cancelled ? 'The attempt was cancelled.' : `The attempt had already ended: ${outcome}.`
  })
}

/** How long (ms) to watch for an attempt that fails again, and how often. */
const WATCH = { for: 10_000, every: 500 }

/** Starts the next attempt on a message in back-off. If it fails, says when the one after it begins: that pause is longer. */
export function retryNow(id) {
  return act(async () => {
    const before = await attemptOn(id)
    await invoke('message-retry', { id })
    void sayNext(id, before)
    return 'The next attempt begins now.'
  })
}

async function attemptOn(id) {
  const [attempt = {}] = await invoke('message-attempts', { ids: [id] }).catch(() => [])
  return attempt
}

async function sayNext(id, before) {
  for (const end = Date.now() + WATCH.for; Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, WATCH.every))
    const { at, outcome, nextAt } = await attemptOn(id)
    if (at === before.at || at === undefined) continue
    if (outcome === 'retrying' && nextAt !== undefined)
      say(`It failed again. The next attempt begins in ${span(Math.max(0, nextAt - Date.now()))}.`, 'bad')
    return
  }
}

/** Cancels the running attempt on a message. */
export function CancelRun({ id, done, isSmall = false }) {
  return html`<button changes type="button" class=${isSmall ? 'small' : ''} onClick=${() => cancelRun(id).then(done)}>Cancel the attempt …</button>`
}

/** The effect of each kind of pause. */
const WAITS = {
  gateway: 'Its messages are accepted, but wait.',
  route: 'Its messages are accepted, but wait, and so do later ones of the same conversations.',
  skill:
    'Messages of all its routes are accepted, but wait, and so do its schedules. Direct calls still run.',
  conversation: 'Its messages are accepted, but wait: no skill runs for them.',
}

/** Keeps the end of a pause. */
const AS_BEFORE = 'as before'

/** When a pause ends by itself. */
const ENDS = [
  ['', 'it is resumed'],
  ['15m', 'in 15 minutes'],
  ['1h', 'in an hour'],
  ['4h', 'in 4 hours'],
  ['24h', 'in a day'],
]

/**
 * Asks for a reason and an end, then pauses. Resolves with whether it is paused. `of`: arguments of the operation. `before`: the
 * reason and end (Unix ms) of the pause that it changes.
 */
export async function pauseWith({ kind, of, name, before, action = before ? 'Change the pause' : 'Pause' }) {
  let reason = before?.reason ?? ''
  const ends = before?.until
    ? [[AS_BEFORE, `as now: in ${span(Math.max(0, before.until - Date.now()))}`], ...ENDS]
    : ENDS
  let end = ends[0][0]
  const body = html`<p>${WAITS[kind]}</p>
    <label>Reason (optional) <input data-confirms maxlength="200" value=${reason} onInput=${(event) => {
      reason = event.target.value.trim()
    }} /></label>
    <label>Until <select onChange=${(event) => {
      end = event.target.value
    }}>${ends.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}</select></label>`
  if (!(await ask({ title: `${action}: ${kind} ${name}?`, body, action }))) return false
  return act(async () => {
    const duration =
      end === AS_BEFORE ? `${Math.max(1, Math.round((before.until - Date.now()) / 1_000))}s` : end
    await invoke(`${kind}-pause`, { ...of, ...(reason && { reason }), ...(duration && { for: duration }) })
    return before ? 'The pause is changed.' : WAITS[kind]
  })
}

/** The pause of an object; undefined if it is not paused. `of`: the arguments of the operations. */
export function usePause({ kind, of, name }) {
  const { value, error, reload } = usePauses()
  const found = value?.find(
    (each) =>
      each.kind === kind && each.name === name && (kind !== 'conversation' || each.gateway === of.gateway),
  )
  return { pause: found, isKnown: value !== undefined, error, reload }
}

/**
 * The button that pauses or resumes, in the same place and of the same width in either state. What the pause is stands beside it, in a
 * `PauseNote`. `kind`: of the operations; `of`: their arguments.
 */
export function Pause({ kind, of, name, words = ['Pause', 'Resume'], isSmall = false }) {
  const { pause, isKnown, error, reload } = usePause({ kind, of, name })
  const [isBusy, once] = useOnce()
  const resume = () =>
    act(async () => {
      await invoke(`${kind}-resume`, of)
      return 'Its messages are dispatched again.'
    })
  const change = async () => {
    if (pause) await resume()
    else await pauseWith({ kind, of, name, action: words[0] })
    await reload()
  }
  const size = isSmall ? 'small' : ''
  // Whether it is paused is not known: neither is offered.
  if (!isKnown)
    return html`<button type="button" class=${`pause-button ${size}`} disabled=${!error} title=${error?.message} onClick=${reload}>${error ? 'Paused? Try again' : `${words[0]} …`}</button>`
  const word = words[Number(Boolean(pause))]
  return html`<button changes type="button" class=${`pause-button ${size}`} disabled=${isBusy} aria-label=${`${word} ${kind} ${name}`} onClick=${() => once(change)}>${word}${pause ? '' : ' …'}</button>`
}
