import { computed, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { timeRangeIn } from '../../lib/time-range.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { act, ask, dateTime } from './parts.js'
import { instant } from './range.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** Ranges that a click puts into the field. */
const QUICK = ['15m', '1h', '24h', 'today', 'yesterday', '7d', 'all']
/** Pause (ms) after the last key before the events of the range are counted. */
const SETTLE = 250

/**
 * Asks for a range, counts its events, and replays them as a job. `skill` is `event-replay` or
 * `subscription-replay`, and `of` its arguments.
 */
export async function replayRange({ skill, of, title, effect }) {
  /** The range in the dialog, and its counts; undefined while they are unknown. */
  const range = signal(timeRangeIn('1h'))
  const counts = signal()
  const isReady = computed(() => {
    const { redelivered = 0, more = false } = counts.value ?? {}
    return range.value !== undefined && (redelivered > 0 || more)
  })
  const body = html`<p>${effect} It runs as a job that goes on when this page is closed.</p>
    <${RangeField} ...${{ skill, of, range, counts }} />`
  if (!(await ask({ title, body, action: html`<${Action} counts=${counts} />`, isReady }))) return
  await act(async () => {
    const { job } = await invoke(skill, { ...of, ...argumentsOf(range.value) })
    startedJobs.value++
    const { redelivered, more } = counts.value
    return more
      ? `Replay started: ${count(job.total, 'event')} to examine.`
      : `Replay of ${count(redelivered, 'event')} started.`
  })
}

/** The label of the button. */
function Action({ counts }) {
  const { redelivered = 0, more } = counts.value ?? {}
  if (more) return 'Replay the range'
  return redelivered > 0 ? `Replay ${count(redelivered, 'event')}` : 'Replay'
}

function RangeField({ skill, of, range, counts }) {
  const [words, setWords] = useState('1h')
  const [counted, setCounted] = useState({})
  // The counts of the former words go first: the button answers for what is shown.
  const change = (next) => {
    if (next !== words) counts.value = undefined
    setWords(next)
  }
  useEffect(() => {
    const asked = timeRangeIn(words)
    range.value = asked
    counts.value = undefined
    setCounted({})
    if (asked === undefined) return undefined
    const end = new AbortController()
    const timer = setTimeout(() => {
      invoke(skill, { ...of, ...argumentsOf(asked), dryRun: true }, end.signal).then(
        (result) => {
          counts.value = result
          setCounted(result)
        },
        (error) => !end.signal.aborted && setCounted({ error }),
      )
    }, SETTLE)
    return () => {
      clearTimeout(timer)
      end.abort(NO_LONGER_NEEDED)
    }
  }, [words])
  return html`<label class="when">Range <input type="text" data-confirms autofocus spellcheck="false" autocomplete="off" value=${words} onFocus=${(event) => event.target.select()} onInput=${(event) => change(event.target.value)} /></label>
    <div class="chips" role="group" aria-label="Ranges">${QUICK.map((each) => html`<button type="button" key=${each} aria-pressed=${each === words} onClick=${() => change(each)}>${each}</button>`)}</div>
    <p class="counted" role="status">${summaryOf(words, counted)}</p>
    <p class="hint">Or words such as <code>yesterday 10-11</code>, <code>monday 9:30-10</code>, <code>2026-11-27 8-9:30</code>, in the time of this browser (${Intl.DateTimeFormat().resolvedOptions().timeZone}).</p>`
}

/** The events of the range in words: how many are delivered again, and why the others are not. */
function summaryOf(words, { error, ...counts }) {
  const { events, redelivered, firstAt, lastAt, more } = counts
  const asked = timeRangeIn(words)
  if (asked === undefined) return html`<span class="error">This is no range of time.</span>`
  if (asked.since > Date.now()) return html`<span class="error">This range is in the future.</span>`
  if (error) return html`<span class="error">${error.message}</span>`
  const span = html`<span class="dim">${spanOf(asked)}</span>`
  if (events === undefined) return html`Counting … ${span}`
  if (events === 0) return html`<b>No events</b> are kept of that time. ${span}`
  const times = `${shown(firstAt)} to ${shown(lastAt)}`
  const again =
    redelivered === 0 && !more
      ? html`<b>Nothing to replay.</b> ${count(events, 'event')} from ${times}`
      : html`<b>${more ? 'At least ' : ''}${count(redelivered, 'event')}</b> of ${events.toLocaleString('en')}, from ${times}`
  return html`${again}<${Others} ...${counts} />`
}

/** The events of the range that a replay does not deliver again, and those that were delivered. */
function Others({ redelivered, unread, filtered = 0, queued = 0, queuedMore, delivered = 0, older, more }) {
  return html`${filtered > 0 && html`<br /><span class="dim">${count(filtered, 'event')} left out by its filter.</span>`}
    ${more && html`<br /><span class="dim">Only the oldest ${count(redelivered + unread + queued + filtered, 'event')} were compared with the filter.</span>`}
    ${unread > 0 && html`<br /><span class="dim">${count(unread, 'event')} not read yet: delivered anyway, once.</span>`}
    ${older > 0 && html`<br /><span class="dim">${count(older, 'event')} older than the push: never sent yet.</span>`}
    ${delivered > 0 && html`<br /><span class="warn-text">${count(delivered, 'event')} delivered before${older === undefined && ', unless older than the push'}: sent again.</span>`}
    ${queued > 0 && html`<br /><span class="dim">${queuedMore ? 'At least ' : ''}${count(queued, 'event')} ${queued === 1 ? 'waits' : 'wait'} for an attempt already: delivered once.</span>`}`
}

function spanOf({ since, until }) {
  if (since === undefined) return 'All that is kept.'
  return `${shown(since)} to ${until === undefined ? 'now' : shown(until)}`
}

function shown(at) {
  return dateTime(new Date(at).getTime())
}

function argumentsOf({ since, until }) {
  return {
    ...(since !== undefined && { since: instant(since) }),
    ...(until !== undefined && { until: instant(until) }),
  }
}
