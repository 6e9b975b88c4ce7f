import { useAttempt } from '../lib/attempts.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { span } from '../lib/parts.js'

/**
 * The last attempt at an open message, and what it waits for. `error`: that of its dead letter. Who took
 * over its conversation is said elsewhere.
 */
export function Attempt({ of, error: last }) {
  const { outcome } = of
  const { error = last, nextAt, pausedBy = [], budget } = useAttempt(of) ?? {}
  const paused = pausedBy.flatMap(({ kind, name }) => (kind === 'conversation' ? [] : `${kind} ${name}`))
  return html`${error && html`<span class="error">${causeOf(error)}</span> `}
    ${outcome === 'retrying' && nextAt > clock.value && html`<span class="dim">again in ${span(nextAt - clock.value)}</span> `}
    ${paused.length > 0 && html`<span class="dim">paused: ${paused.join(', ')}</span> `}
    ${budget && html`<span class="dim">${budget}</span> `}`
}
