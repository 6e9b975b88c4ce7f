import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask, Badge, useLoaded } from './parts.js'

/** Ends the attempt that runs on a message. */
export function CancelRun({ id, done }) {
  const cancel = async () => {
    const title = 'Cancel this attempt?'
    const body = 'It ends now, and the message becomes a dead letter that can be retried.'
    if (!(await ask({ title, body, action: 'Cancel the attempt', danger: true }))) return
    await act(async () => {
      const { cancelled, outcome } = await invoke('run-cancel', { messageId: id })
      return cancelled ? 'The attempt was cancelled.' : `The attempt ended by itself: ${outcome}.`
    })
    done()
  }
  return html`<button type="button" onClick=${cancel}>Cancel the attempt …</button>`
}

/** Pauses what it names, or lets it go on: `kind` is that of the operations, `of` their arguments. */
export function Pause({ kind, of, name, words = ['Pause', 'Resume'] }) {
  const { value: pauses, reload } = useLoaded((signal) => invoke('pause-list', {}, signal), [kind, name])
  if (!pauses) return null
  const isHere = (each) =>
    each.kind === kind && each.name === name && (kind !== 'conversation' || each.gateway === of.gateway)
  const isPaused = pauses.some(isHere)
  const change = () =>
    act(async () => {
      await invoke(`${kind}-${isPaused ? 'resume' : 'pause'}`, of)
      reload()
      return isPaused ? 'Its messages are dispatched again.' : 'Its messages are accepted and wait.'
    })
  return html`${isPaused && html`<${Badge} kind="warn">paused<//>`}
    <button type="button" onClick=${change}>${words[Number(isPaused)]}</button>`
}
