import { invoke } from './api.js'
import { html } from './html.js'
import { startedJobs } from './jobs.js'
import { act, ask } from './parts.js'
import { count } from './troubles.js'

const QUICK = [
  ['15m', 'the last 15 minutes'],
  ['1h', 'the last hour'],
  ['6h', 'the last six hours'],
  ['24h', 'the last day'],
  ['today', 'today'],
  ['yesterday', 'yesterday'],
  ['7d', 'the last week'],
  ['all', 'all retained events'],
  ['range', 'from … to …'],
]

/**
 * Asks for a range and replays it as a job. `skill` is `event-replay` or `subscription-replay`, and `of` its
 * arguments.
 */
export async function replayRange({ skill, of, title, effect }) {
  const given = { quick: '1h', start: '', end: '' }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const set = (key) => (event) => {
    given[key] = event.target.value
    // A dialog is rendered once, so its range is shown and hidden here.
    const range = event.target.closest('dialog').querySelector('[data-range]')
    range.hidden = given.quick !== 'range'
  }
  const body = html`<p>${effect} It runs as a job that goes on when this page is closed.</p>
    <label>What <select onChange=${set('quick')}>${QUICK.map(([value, name]) => html`<option key=${value} value=${value} selected=${value === given.quick}>${name}</option>`)}</select></label>
    <div data-range hidden class="range"><label>From <input type="datetime-local" step="1" onInput=${set('start')} /></label>
      <label>To <input type="datetime-local" step="1" onInput=${set('end')} /></label><p class="hint">In the time of this browser (${zone}). An empty field is open.</p></div>`
  if (!(await ask({ title, body, action: 'Replay' }))) return
  await act(async () => {
    const { job } = await invoke(skill, { ...of, ...rangeOf(given) })
    startedJobs.value++
    if (job.total === 0) return 'Nothing was kept in that time: no event is replayed.'
    return `Replay started: ${count(job.total, 'event')} to examine.`
  })
}

function rangeOf({ quick, start, end }) {
  if (quick === 'all') return {}
  if (quick === 'today') return { since: midnight(0) }
  if (quick === 'yesterday') return { since: midnight(1), until: midnight(0) }
  if (quick !== 'range') return { since: quick }
  const iso = (text) => new Date(text).toISOString()
  return { ...(start && { since: iso(start) }), ...(end && { until: iso(end) }) }
}

/** The begin of a day in the time of this browser, counted back from today. */
function midnight(daysAgo) {
  const day = new Date()
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() - daysAgo)
  return day.toISOString()
}
