import { useEffect, useState } from 'preact/hooks'
import { timeRangeIn } from '../../lib/time-range.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { dateTime } from './parts.js'
import { instant } from './range.js'
import { count } from './troubles.js'

/** Pause (ms) after the last key before the events are counted. */
const SETTLE = 250
/** Words that a click puts into the field. */
const QUICK = ['now', '1h', '8h', 'today']

/**
 * Until when a group skips its unread events. Sets `until` (Unix ms; undefined: now) and `counts`,
 * what `event-seek` with the arguments `of` would skip.
 */
export function SkipField({ of, until, counts }) {
  const [words, setWords] = useState('now')
  const [error, setError] = useState()
  // The counts of the former words go first: the button answers for what is shown.
  const change = (next) => {
    if (next !== words) counts.value = undefined
    setWords(next)
  }
  useEffect(() => {
    counts.value = undefined
    setError(undefined)
    const time = timeIn(words)
    if (time === null) return undefined
    until.value = time
    const end = new AbortController()
    const bound = time === undefined ? {} : { until: instant(time) }
    const timer = setTimeout(() => {
      invoke('event-seek', { ...of, ...bound, dryRun: true }, end.signal).then(
        (found) => {
          counts.value = found
        },
        (failure) => !end.signal.aborted && setError(failure),
      )
    }, SETTLE)
    return () => {
      clearTimeout(timer)
      end.abort(NO_LONGER_NEEDED)
    }
  }, [words])
  return html`<label class="when">Until <input type="text" data-confirms autofocus spellcheck="false" autocomplete="off" value=${words} onFocus=${(event) => event.target.select()} onInput=${(event) => change(event.target.value)} /></label>
    <div class="chips" role="group" aria-label="Times">${QUICK.map((each) => html`<button type="button" key=${each} aria-pressed=${each === words} onClick=${() => change(each)}>${each}</button>`)}</div>
    <p class="counted" role="status">${summaryOf(words, counts.value, error)}</p>
    <p class="hint">Or <code>yesterday 6</code>, or an age such as <code>2h</code>. Other groups keep their events. A replay delivers skipped events again while they are retained.</p>`
}

/** The label of the button. */
export function SkipLabel({ counts }) {
  const { skipped = 0, more } = counts.value ?? {}
  return skipped > 0 && !more ? `Skip ${count(skipped, 'event')}` : 'Skip'
}

/** The time (Unix ms) that words mean: the start of their range. Undefined: now; null: none. */
function timeIn(words) {
  if (words.trim() === 'now') return undefined
  const since = timeRangeIn(words)?.since
  return since ?? null
}

function summaryOf(words, counts, error) {
  if (timeIn(words) === null) return html`<span class="error">This is no time.</span>`
  if (error) return html`<span class="error">${error.message}</span>`
  if (counts === undefined) return 'Counting …'
  const { skipped, more, firstAt, lastAt } = counts
  if (skipped === 0 && !more)
    return words.trim() === 'now'
      ? 'Nothing to skip: it has read everything.'
      : 'Nothing to skip: it has read everything before that time.'
  const times =
    firstAt === undefined || lastAt === undefined
      ? ''
      : `, published from ${dateTime(firstAt)} to ${dateTime(lastAt)}`
  return html`<b>${more ? 'At least ' : ''}${count(skipped, 'event')}</b> will be skipped${times}.`
}
