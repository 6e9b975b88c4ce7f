import { patternOf } from '../../lib/error-pattern.ts'
import { RETRIED, withoutUndone } from '../../lib/undone-retries.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { SameError } from './same-error.js'

/** How many attempts at a dead message failed, and how many of them came after its last retry. */
export function FailedAttempts({ history }) {
  const dispatched = withoutUndone(history).filter(({ road }) => road === 'dispatch')
  const failed = attemptsIn(dispatched)
  const retried = dispatched.findLast(({ what }) => what === RETRIED)
  if (!retried) return failed > 1 ? ` after ${count(failed, 'attempt')}` : null
  const again = attemptsIn(dispatched.slice(dispatched.indexOf(retried)))
  const by = retried.detail?.by ? ` by ${authorOf(retried.detail.by)}` : ''
  return html` after ${count(failed, 'attempt')}, ${again.toLocaleString('en')} of them since the retry${by} <${Age} at=${retried.at} /> ago`
}

function attemptsIn(notes) {
  return notes.filter(({ what, detail }) => (what === 'failed' || what === 'dead') && detail?.attempt).length
}

/** Links from a dead message to its dead letter, and to others with the same error. */
export function ToCause({ id }) {
  const { value: of } = useLoaded((signal) => causeIn(id, signal), [id])
  if (!of) return null
  return html`<a href=${link(['dead-letters', id], { queue: 'dispatch' })}>See its dead letter</a>. <${SameError} of=${of} />`
}

/** The group of a message's dead letter; undefined once the letter is gone. */
async function causeIn(id, signal) {
  const queue = 'dispatch'
  const letter = await invoke('dead-letter-show', { id, queue }, signal).catch(() => undefined)
  if (!letter) return undefined
  const { code, message } = letter.errors.at(-1) ?? { code: letter.reason, message: letter.reason }
  return { queue, group: letter.group, code, pattern: patternOf(message) }
}
