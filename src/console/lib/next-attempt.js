import { invoke } from './api.js'
import { html } from './html.js'
import { span, useLoaded } from './parts.js'

/** What *Retry now* uses up, and what follows if the attempt fails; undefined if that is unknown. */
export function retryEffect({ next } = {}) {
  if (!next) return undefined
  const { number, of, pause } = next
  if (!pause) return `This is the last of ${of} attempts. If it fails too, the message becomes a dead letter.`
  const times = [span(pause.least), span(pause.most)]
  const later = times[0] === times[1] ? times[0] : times.join(' to ')
  return `This is attempt ${number} of ${of}. If it fails too, the next one begins ${later} later.`
}

/** The same for one message, as a text beside its button. */
export function RetryEffect({ id }) {
  const { value: [attempt] = [] } = useLoaded(
    (signal) => invoke('message-attempts', { ids: [id] }, signal),
    [id],
  )
  const text = retryEffect(attempt)
  return text && html`<span class="dim retry-effect wide">${text}</span>`
}
