import { useEffect } from 'preact/hooks'
import { whenInWords } from '../../lib/schedule-words.ts'
import { invoke } from '../lib/api.js'
import { ReloadOfDaemon } from '../lib/failed-reload.js'
import { html } from '../lib/html.js'
import {
  Age,
  CopyLink,
  dateTime,
  Empty,
  Facts,
  Json,
  Moment,
  span,
  took,
  useLoaded,
  Wait,
} from '../lib/parts.js'
import { link } from '../lib/router.js'
import { pauseSchedule, resumeSchedule, runSchedule } from '../lib/schedule-actions.js'
import { Back } from '../lib/trail.js'
import { ByHand, LastRun, Late, Next, Origin, RunOutcome } from './schedule-parts.js'

/** Polling interval (ms). */
const POLL_INTERVAL = 5_000

/** One schedule: its times and rules, the next and the last run, and the runs before. */
export function SchedulePage({ id }) {
  const loaded = useLoaded((signal) => invoke('schedule-show', { id }, signal), [id])
  const { value, error, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="schedules" />
    <${ReloadOfDaemon} />
    ${error?.code === 'not_found' ? html`<h1 id="title">${id}</h1><${Empty} title="There is no such schedule.">It was deleted, or it is not yours.<//>` : html`<${Wait} of=${loaded} what="the schedule" />`}
    ${value && html`<${Schedule} schedule=${value} reload=${reload} />`}
  </section>`
}

function Schedule({ schedule, reload }) {
  const {
    name,
    skill,
    paused,
    cron,
    overlap = 'queue',
    misfire = 'once',
    args = {},
    created,
    lastRun,
    runs = [],
    upcoming = [],
  } = schedule
  const lastFailed = runs.find(({ error }) => error !== undefined)
  const facts = {
    when: html`${whenInWords(schedule, dateTime)}${cron && html` <code class="dim">${cron}</code>`}`,
    'next run': html`<${Next} of=${schedule} />`,
    'last run': html`<${LastRun} of=${lastRun} />`,
    'last error':
      lastFailed &&
      lastFailed !== runs[0] &&
      html`<span class="error">${lastFailed.error}</span> <span class="dim"><${Age} at=${lastFailed.endedAt ?? lastFailed.startedAt} /> ago</span>`,
    'after that':
      !paused &&
      upcoming.length > 1 &&
      html`${upcoming.slice(1).map((at, index) => html`${index > 0 && ', '}<${Moment} key=${at} at=${at} />`)}`,
    skill: html`<a href=${link(['skills', skill])}>${skill}</a>`,
    'if it still runs then': OVERLAPS[overlap] ?? overlap,
    'if no daemon runs then':
      MISFIRES[misfire] ??
      `the newest missed time runs when one is back, unless it is more than ${span(misfire.within)} ago`,
    origin: html`<${Origin} of=${schedule} />`,
    created:
      created &&
      html`<${Moment} at=${Date.parse(created)} /> <span class="dim"><${Age} at=${Date.parse(created)} /> ago</span>`,
  }
  return html`<header class="bar"><h1 id="title">${name}</h1>
      <div class="buttons"><button changes type="button" onClick=${() => runSchedule(schedule).then(reload)}>Run now …</button>
        ${
          paused
            ? html`<button changes type="button" class="primary" onClick=${() => resumeSchedule(schedule).then(reload)}>Resume …</button><button changes type="button" onClick=${() => pauseSchedule(schedule).then(reload)}>Change the pause …</button>`
            : html`<button changes type="button" onClick=${() => pauseSchedule(schedule).then(reload)}>Pause …</button>`
        }<${CopyLink} /></div></header>
    <${Facts} of=${facts} />
    ${Object.keys(args).length > 0 && html`<h2>Arguments</h2><${Json} value=${args} label="Arguments" />`}
    <h2>Last runs</h2>
    ${runs.length > 0 ? html`<${Runs} of=${runs} id=${schedule.id} skill=${skill} />` : html`<p class="dim">It has not run yet, as far as Trivium knows.</p>`}`
}

/** The runs with their planned and actual times, newest first. */
function Runs({ of, id, skill }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Last runs"><table class="runs">
    <thead><tr><th scope="col">planned</th><th scope="col">began</th><th scope="col">outcome</th><th scope="col" class="number">took</th></tr></thead>
    <tbody>${of.map((run) => html`<${Run} key=${run.startedAt} of=${run} id=${id} />`)}</tbody></table></div>
    <p><a href=${link(['skills', skill])}>All runs of the skill ${skill}</a> <span class="dim">whatever began them; without the planned times.</span></p>`
}

function Run({ of: run, id }) {
  const { planned, startedAt, endedAt, error, result, manual, by } = run
  return html`<tr>
    <td data-label="planned">${manual ? html`<${ByHand} by=${by} />` : planned === undefined ? html`<span class="dim">not known</span>` : html`<${Moment} at=${planned} />`}</td>
    <td data-label="began"><a data-row href=${link(['schedules', id, String(startedAt)])}><${Moment} at=${startedAt} /></a>${!manual && html`<${Late} of=${run} />`}</td>
    <td class="outcome"><${RunOutcome} of=${run} />${error && html` <span class="error">${error}</span>`}${result && html`<details><summary>What it returned</summary><pre tabindex="0" aria-label="What it returned">${result}</pre></details>`}</td>
    <td class="number">${endedAt === undefined ? '' : took(endedAt - startedAt)}</td></tr>`
}

/** What happens if a run is due while the one before still runs. */
const OVERLAPS = {
  queue: 'the run that is due waits for the end of the one before',
  skip: 'the run that is due is skipped',
  allow: 'both run at the same time',
}

/** What happens to times at which no daemon was running. */
const MISFIRES = {
  once: 'the newest missed time runs late, when one is back; the others are skipped',
  skip: 'missed times are skipped',
}
