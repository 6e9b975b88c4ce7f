import { skippedInWords } from '../../lib/skipped-in-words.ts'
import { invoke } from './api.js'
import { renewAttempt } from './attempts.js'
import { clockOf } from './clock-of.js'
import { html } from './html.js'
import { MessageGist } from './message-link.js'
import { openEnd } from './open-end.js'
import { Age, act, ask, dateTime, say, span, useLoaded, useOnce } from './parts.js'
import { kindInWords, pauseForm, WAITS } from './pause-form.js'
import { placeOfPause, usePauses } from './pauses.js'
import { asks, resumeWith } from './resume.js'
import { effectOfSkillPause } from './skill-use.js'

/** Names the running attempt on a message: the message, the route, and how long it has run. */
function RunningAttempt({ id }) {
  const { value } = useLoaded((signal) => invoke('message-attempts', { ids: [id] }, signal), [id])
  const [{ route, attempt, since } = {}] = value ?? []
  return html`<p><b><${MessageGist} id=${id} /></b>${since !== undefined && html`<br /><span class="dim">Attempt ${attempt} of route ${route} has run for <${Age} at=${since} />.</span>`}</p>`
}

/** Asks, then cancels the running attempt on a message. */
export async function cancelRun(id) {
  const title = 'Cancel this attempt?'
  let reason = ''
  const body = html`<${RunningAttempt} id=${id} /><p>It ends now, and the message becomes a dead letter that can be retried.</p>
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
const WATCH = { for: 30_000, every: 500 }

/**
 * Starts the next attempt on a message in backoff. If it fails too, says when the following one
 * begins.
 */
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
    // The attempt may end just after its outcome is read.
    if (at === before.at || at === undefined || outcome === 'running') continue
    renewAttempt(id)
    if (outcome === 'retrying' && nextAt !== undefined)
      say(`It failed again. The next attempt begins in ${span(Math.max(0, nextAt - Date.now()))}.`, 'bad')
    return
  }
}

/** Cancels the running attempt on a message. */
export function CancelRun({ id, done, isSmall = false }) {
  return html`<button changes type="button" class=${isSmall ? 'small' : ''} onClick=${() => cancelRun(id).then(done)}>Cancel the attempt …</button>`
}

/**
 * Asks for a reason and an end, then pauses. Resolves with whether it has paused. `of`: arguments
 * of the operation. `before`: the pause to change, with its reason and end (Unix ms).
 */
export async function pauseWith({ kind, of, name, before, action = before ? 'Change the pause' : 'Pause' }) {
  const title = kind === 'conversation' ? `${action}: ${name}?` : `${action}: ${kindInWords(kind)} ${name}?`
  const given = await ask({ title, ...pauseForm({ kind, of, name, before, action }) })
  if (!given) return false
  return act(async () => {
    const answer = await invoke(`${kind}-pause`, { ...of, ...given })
    const end = untilOf(answer.pause)
    const effect = await effectOf(kind, name, answer.pause)
    if (before && kind !== 'conversation')
      return `The pause of ${kindInWords(kind)} ${name} is changed: ${end}.${kind === 'schedule' ? ` ${effect}` : ''}`
    if (kind === 'conversation')
      return `${name}: taken over ${answer.pause?.until === undefined ? 'until handed back' : end}. ${effect}`
    return `${name} is paused${answer.pause?.until === undefined ? '' : ` ${end}`}. ${effect}`
  })
}

/** The effect of a pause that has begun. */
function effectOf(kind, name, pause) {
  if (kind === 'skill') return effectOfSkillPause(name)
  return kind === 'schedule' ? skippedInWords(pause, dateTime) : WAITS[kind]
}

/** The kinds of pauses that can be changed here: all except a pause of everything. */
const CHANGEABLE = new Set(['gateway', 'route', 'skill', 'conversation', 'schedule', 'subscription'])

export const canChange = ({ kind }) => CHANGEABLE.has(kind)

/**
 * Asks for a new reason and end of a pause of `pause-list`. Resolves with whether it was changed.
 */
export function changePause(pause) {
  const { kind, name, label = name, reason, until, by, drop } = pause
  const of = { ...placeOfPause(pause).args, ...(drop && { drop }) }
  return pauseWith({ kind, of, name: label, before: { reason, until, by } })
}

/** A button that changes a pause where it is shown. `done` is called after that. */
export function ChangePause({ of: pause, done, isSmall = true }) {
  const [isBusy, once] = useOnce()
  if (!canChange(pause)) return null
  const { kind, name, label = name } = pause
  const change = async () => {
    if (await changePause(pause)) await done?.()
  }
  return html`<button changes type="button" class=${isSmall ? 'small' : ''} aria-disabled=${isBusy} onClick=${() => once(change)} aria-label=${`Change the pause of ${kindInWords(kind)} ${label}`}>Change …</button>`
}

/** `until 11:56`, or `until it is resumed`. */
export function untilOf({ kind, until } = {}) {
  return `until ${until === undefined ? openEnd(kind) : clockOf(until)}`
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
 * A button that pauses or resumes; it has the same place and width in both states. While paused, one
 * that changes the pause is in front of it; behind it if the buttons are at the left (`isLeft`). A `PauseNote` beside it describes the pause. `kind`: first word of the operations, such as `route`; `of`: their
 * arguments; `label`: what people call a conversation.
 */
export function Pause({
  kind,
  of,
  name,
  label = name,
  words = ['Pause', 'Resume'],
  isSmall = false,
  isLeft = false,
}) {
  const { pause, isKnown, error, reload } = usePause({ kind, of, name })
  const [isBusy, once] = useOnce()
  const resume = async () => {
    let said
    await act(async () => {
      said = await resumeWith(`${kind}-resume`, of, { ...pause, label })
      return said
    })
    return said !== undefined
  }
  const change = async () => {
    const isChanged = pause ? await resume() : await pauseWith({ kind, of, name: label, action: words[0] })
    // After *Cancel*, the button can be pressed again immediately.
    if (isChanged) await reload()
  }
  const size = isSmall ? 'small' : ''
  // Offers neither while it is unknown whether there is a pause.
  if (!isKnown)
    return html`<button type="button" class=${`pause-button ${size}`} disabled=${!error} title=${error?.message} onClick=${reload}>${error ? 'Paused? Try again' : `${words[0]} …`}</button>`
  const word = words[Number(Boolean(pause))]
  const other =
    pause && html` <${ChangePause} of=${{ ...pause, label }} done=${reload} isSmall=${isSmall} /> `
  return html`${!isLeft && other}<button changes type="button" class=${`pause-button ${size}`} aria-disabled=${isBusy} aria-label=${`${word} ${kind} ${name}`} onClick=${() => once(change)}>${word}${pause && !asks(pause) ? '' : ' …'}</button>${isLeft && other}`
}
