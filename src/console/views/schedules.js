import { useEffect } from 'preact/hooks'
import { whenInWords } from '../../lib/schedule-words.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { dateTime, Empty, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { pauseSchedule, resumeSchedule, runSchedule } from '../lib/schedule-actions.js'
import { SchedulePage } from './schedule.js'
import { LastRun, Next, Origin } from './schedule-parts.js'
import { ScheduleRun } from './schedule-run.js'

/** Polling interval (ms). */
const POLL_INTERVAL = 5_000

/** All schedules, one of them, or one of its runs. */
export function SchedulesPage({ path: [id, run] }) {
  if (run !== undefined) return html`<${ScheduleRun} key=${`${id} ${run}`} id=${id} at=${run} />`
  return id === undefined ? html`<${AllSchedules} />` : html`<${SchedulePage} key=${id} id=${id} />`
}

/** All schedules, the soonest first: when they run, how the last run went, and what can be done. */
function AllSchedules() {
  const loaded = useLoaded((signal) => invoke('schedule-list', {}, signal), [])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
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

/** Paused and finished schedules have no next time: they are last. */
function nextOf({ paused, next }) {
  return paused || next === undefined ? Number.MAX_SAFE_INTEGER : next
}

const COLUMNS = ['schedule', 'skill', 'when', 'next run', 'last run', '']

function Table({ of, reload }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="All schedules"><table class="group-table schedule-table">
    <thead><tr>${COLUMNS.map((title) => html`<th key=${title} scope="col">${title || html`<span class="unseen">actions</span>`}</th>`)}</tr></thead>
    <tbody>${of.map((each) => html`<${Schedule} key=${`${each.id} ${each.created}`} schedule=${each} reload=${reload} />`)}</tbody></table></div>`
}

function Schedule({ schedule, reload }) {
  const { id, name, skill, paused, cron } = schedule
  return html`<tr aria-label=${`Schedule ${name}`}>
    <td class="group-name"><a data-row href=${link(['schedules', id])}>${name}</a><span class="about"><${Origin} of=${schedule} /></span></td>
    <td class="skill-of" data-label="skill"><a href=${link(['skills', skill])}>${skill}</a></td>
    <td title=${cron}>${whenInWords(schedule, dateTime)}</td>
    <td data-label="next"><${Next} of=${schedule} /></td>
    <td data-label="last"><${LastRun} of=${schedule.lastRun} /></td>
    <td class="row-actions"><button changes type="button" class="small" onClick=${() => runSchedule(schedule).then(reload)} aria-label=${`Run now: schedule ${name}`}>Run now …</button>
      ${
        paused
          ? html`<button changes type="button" class="small" onClick=${() => pauseSchedule(schedule).then(reload)} aria-label=${`Change the pause of schedule ${name}`}>Change …</button> <button changes type="button" class="small primary" onClick=${() => resumeSchedule(schedule).then(reload)} aria-label=${`Resume schedule ${name}`}>Resume …</button>`
          : html`<button changes type="button" class="small" onClick=${() => pauseSchedule(schedule).then(reload)} aria-label=${`Pause schedule ${name}`}>Pause …</button>`
      }</td>
  </tr>`
}
