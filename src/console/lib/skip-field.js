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
/** Words that a click puts into the field, and what they skip. */
const QUICK = [
  ['now', 'all'],
  ['1h', 'older than 1 h'],
  ['8h', 'older than 8 h'],
  ['today', 'before today'],
]

/**
 * Until when a group skips its unread events. Sets `until` (Unix ms; undefined: now) and `counts`,
 * what `event-skip` with the arguments `of` would skip. `here`: the event with which the group is to
 * go on, instead of a field for the time.
 */
export function SkipField({ of, until, counts, here }) {
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
    const time = here ? here.publishedAt : timeIn(words)
    if (time === null) return undefined
    until.value = time
    const end = new AbortController()
    const bound = time === undefined ? {} : { until: instant(time) }
    const timer = setTimeout(() => {
      invoke('event-skip', { ...of, ...bound, dryRun: true }, end.signal).then(
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
  if (here)
    return html`<p class="counted" role="status">${summaryOf('', counts.value, error, here)}</p>
      <p>${of.queue} goes on with <b>${here.text}</b>, published ${dateTime(here.publishedAt)}.</p>
      ${HINT}`
  return html`<label class="when">Until <input type="text" data-confirms autofocus spellcheck="false" autocomplete="off" value=${words} onFocus=${(event) => event.target.select()} onInput=${(event) => change(event.target.value)} /></label>
    <div class="chips" role="group" aria-label="Times">${QUICK.map(([each, name]) => html`<button type="button" key=${each} aria-pressed=${each === words} onClick=${() => change(each)}>${name}</button>`)}</div>
    <p class="counted" role="status">${summaryOf(words, counts.value, error)}</p>
    <p class="hint">A time such as <code>yesterday 6</code>, or an age: <code>2h</code> skips what is older than 2 hours.</p>
    ${HINT}`
}

const HINT = html`<p class="hint">Other groups keep their events. A replay delivers skipped events again while they are retained.</p>`

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

function summaryOf(words, counts, error, here) {
  if (!here && timeIn(words) === null) return html`<span class="error">This is no time.</span>`
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
