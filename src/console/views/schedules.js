import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, Badge, Empty, fullTime, Moment, StoreAway, span, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { pauseSchedule, resumeSchedule, runSchedule } from '../lib/schedule-actions.js'
import { whenInWords } from '../lib/schedule-words.js'

/** Polling interval (ms). */
const AGAIN = 5_000

/** All schedules, the soonest first: when they run, how the last run went, and what can be done. */
export function SchedulesPage() {
  const loaded = useLoaded(readSchedules, [])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), AGAIN)
    return () => clearInterval(timer)
  }, [])
  const schedules = (value ?? []).toSorted((a, b) => nextOf(a) - nextOf(b))
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Schedules</h1></header>
    <${StoreAway} />
    <${Wait} of=${loaded} what="the schedules" />
    ${value?.length === 0 && html`<${Empty} title="There are no schedules.">A schedule runs a skill at planned times. Write one under <code>schedules:</code> in routes.yaml.<//>`}
    ${schedules.length > 0 && html`<${Table} of=${schedules} reload=${reload} />`}
  </section>`
}

/** The schedules. Runs before an update have no record: `formerRun` is then the last one among the runs of the skill. */
async function readSchedules(signal) {
  const schedules = await invoke('schedule-list', {}, signal)
  return Promise.all(
    schedules.map(async (schedule) => {
      if (schedule.lastRun) return schedule
      const { recent = [] } = await invoke('skill-usage', { name: schedule.skill }, signal).catch(() => ({}))
      return { ...schedule, formerRun: recent.find(({ by }) => by === `schedule ${schedule.id}`) }
    }),
  )
}

/** Paused and finished schedules have no next time: they are last. */
function nextOf({ paused, next }) {
  return paused || next === undefined ? Number.MAX_SAFE_INTEGER : next
}

const COLUMNS = ['schedule', 'skill', 'when', 'next run', 'last run', '']

function Table({ of, reload }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="All schedules"><table class="group-table schedule-table">
    <thead><tr>${COLUMNS.map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
    <tbody>${of.map((each) => html`<${Schedule} key=${`${each.id} ${each.created}`} schedule=${each} reload=${reload} />`)}</tbody></table></div>`
}

function Schedule({ schedule, reload }) {
  const { id, name, skill, source, by, paused, cron } = schedule
  const origin = source ?? `${id}, by ${authorOf(by?.id) ?? 'an operator'}`
  return html`<tr aria-label=${`Schedule ${name}`}>
    <td class="group-name"><b data-row tabindex="-1">${name}</b><span class="about">${origin}</span></td>
    <td data-label="skill"><a href=${link(['skills', skill])}>${skill}</a></td>
    <td title=${cron}>${whenInWords(schedule)}</td>
    <td data-label="next"><${Next} of=${schedule} /></td>
    <td data-label="last"><${LastRun} of=${schedule.lastRun} former=${schedule.formerRun} /></td>
    <td class="row-actions"><button changes type="button" class="small" onClick=${() => runSchedule(schedule).then(reload)} aria-label=${`Run now: schedule ${name}`}>Run now …</button>
      ${
        paused
          ? html`<button changes type="button" class="small primary" onClick=${() => resumeSchedule(schedule).then(reload)} aria-label=${`Resume schedule ${name}`}>Resume …</button>`
          : html`<button changes type="button" class="small" onClick=${() => pauseSchedule(schedule).then(reload)} aria-label=${`Pause schedule ${name}`}>Pause …</button>`
      }</td>
  </tr>`
}

function Next({ of: { paused, next } }) {
  if (paused)
    return html`<${Badge} kind="warn">paused<//> <span class="dim">${paused.by && `by ${authorOf(paused.by)} `}for <${Age} at=${paused.since} /></span>`
  if (next === undefined) return html`<span class="dim">no more</span>`
  return html`<${Moment} at=${next} /> <span class="dim whole-words">in ${span(Math.max(0, next - clock.value))}</span>`
}

const OUTCOMES = { running: 'busy', retrying: 'warn', done: 'good', failed: 'bad' }
/** A shorter delay (ms) is normal. */
const LATE = 30_000

/** The planned time of the last run, its outcome, delay and duration. */
function LastRun({ of: run, former }) {
  if (!run && former) return html`<${FormerRun} of=${former} />`
  if (!run) return html`<span class="dim">none known</span>`
  const { planned, startedAt, endedAt, outcome } = run
  const delay = startedAt - planned
  const late = html` <span class="error whole-words" title=${`started ${fullTime(startedAt)}`}>${span(delay)} late</span>`
  const duration = endedAt === undefined ? '' : `took ${took(endedAt - startedAt)}`
  return html`<${Moment} at=${planned} /> <${Badge} kind=${OUTCOMES[outcome]}>${outcome}<//>${delay >= LATE && late} <span class="dim whole-words">${duration}</span>`
}

/** A run whose planned time is not known. */
function FormerRun({ of: { at, ms, code } }) {
  return html`<span class="dim">began</span> <${Moment} at=${at - ms} /> <${Badge} kind=${code ? 'bad' : 'good'}>${code ? 'failed' : 'done'}<//> <span class="dim whole-words">took ${took(ms)}</span>`
}
