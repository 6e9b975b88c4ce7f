import { decideLetters, rangeOf } from './decide-letters.js'
import { html } from './html.js'

/**
 * The button that retries all dead letters of a cause, after a question. `of`: its group; `filter`: of
 * the dead letters; `note` and `done`: see `decideLetters`.
 */
export function RetryAll({ of: group, filter, note, done }) {
  const { count: many, common, first, last, queue } = group
  const range = rangeOf(first, last)
  const retry = () =>
    decideLetters({ verb: 'retry', filter, range, many, of: group.group || queue, common, note, done })
  return html`<button changes type="button" class="small" onClick=${retry}>Retry ${many === 1 ? 'it' : `all ${many.toLocaleString('en')}`} …</button>`
}
