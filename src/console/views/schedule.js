import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, CopyLink, Empty, Facts, Json, Moment, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { pauseSchedule, resumeSchedule, runSchedule } from '../lib/schedule-actions.js'
import { whenInWords } from '../lib/schedule-words.js'
import { Back } from '../lib/trail.js'
import { LastRun, Next, originOf, runsOf } from './schedule-parts.js'
import { Runs } from './skill-runs.js'

/** Polling interval (ms). */
const AGAIN = 5_000

/** One schedule: its times and rules, the next and the last run, and the runs before. */
export function SchedulePage({ id }) {
  const loaded = useLoaded(
    async (signal) => {
      const schedule = await invoke('schedule-show', { id }, signal)
      return { schedule, runs: await runsOf(schedule, signal) }
    },
    [id],
  )
  const { value, error, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), AGAIN)
    return () => clearInterval(timer)
  }, [])
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="schedules" />
    ${error?.code === 'not_found' ? html`<h1 id="title">${id}</h1><${Empty} title="There is no such schedule.">It was deleted, or it is not yours.<//>` : html`<${Wait} of=${loaded} what="the schedule" />`}
    ${value && html`<${Schedule} ...${value} reload=${reload} />`}
  </section>`
}

function Schedule({ schedule, runs, reload }) {
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
  } = schedule
  const facts = {
    when: html`${whenInWords(schedule)}${cron && html` <code class="dim">${cron}</code>`}`,
    'next run': html`<${Next} of=${schedule} />`,
    'last run': html`<${LastRun} of=${lastRun} />`,
    started: lastRun && html`<${Moment} at=${lastRun.startedAt} />`,
    skill: html`<a href=${link(['skills', skill])}>${skill}</a>`,
    overlap: OVERLAPS[overlap] ?? overlap,
    'missed runs': MISFIRES[misfire] ?? `are made up for ${misfire.replace('within: ', '')}`,
    origin: originOf(schedule),
    created:
      created &&
      html`<${Moment} at=${Date.parse(created)} /> <span class="dim"><${Age} at=${Date.parse(created)} /> ago</span>`,
  }
  return html`<header class="bar"><h1 id="title">${name}</h1>
      <div class="buttons"><button changes type="button" onClick=${() => runSchedule(schedule).then(reload)}>Run now …</button>
        ${
          paused
            ? html`<button changes type="button" class="primary" onClick=${() => resumeSchedule(schedule).then(reload)}>Resume …</button>`
            : html`<button changes type="button" onClick=${() => pauseSchedule(schedule).then(reload)}>Pause …</button>`
        }<${CopyLink} /></div></header>
    <${Facts} of=${facts} />
    ${Object.keys(args).length > 0 && html`<h2>Arguments</h2><${Json} value=${args} label="Arguments" />`}
    ${runs.length > 0 ? html`<${Runs} of=${runs} />` : html`<h2>Last runs</h2><p class="dim">None of the last runs of <a href=${link(['skills', skill])}>${skill}</a> was one of this schedule.</p>`}`
}

/** What happens if a run is due while the one before still runs. */
const OVERLAPS = {
  queue: 'a run that is due waits for the end of the one before',
  skip: 'a run that is due while the one before still runs is skipped',
  allow: 'runs may overlap',
}

/** What happens to runs that were due while no daemon was running. */
const MISFIRES = {
  once: 'the newest one is made up, late',
  skip: 'are skipped',
}
