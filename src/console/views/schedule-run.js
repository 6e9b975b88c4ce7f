import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, CopyLink, Empty, Facts, Moment, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { runAt } from '../lib/run-at.js'
import { runSchedule } from '../lib/schedule-actions.js'
import { Back } from '../lib/trail.js'
import { ByHand, isLate, Late, RunOutcome } from './schedule-parts.js'

/** Polling interval (ms). */
const POLL_INTERVAL = 5_000

/** One run of a schedule. `at`: a time (Unix ms) at which it ran. */
export function ScheduleRun({ id, at }) {
  const loaded = useLoaded((signal) => invoke('schedule-show', { id }, signal), [id])
  const { value: schedule, reload } = loaded
  const run = schedule && runAt(schedule.runs, Number(at))
  const isOver = run?.endedAt !== undefined
  useEffect(() => {
    if (isOver) return undefined
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [isOver])
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['schedules', id]} title=${id} />
    <header class="bar"><h1 id="title">Run of ${schedule?.name ?? id}</h1><div class="buttons">${schedule && html`<button changes type="button" onClick=${() => runSchedule(schedule).then(reload)}>Run now …</button>`}<${CopyLink} /></div></header>
    <${Wait} of=${loaded} what="the run" />
    ${schedule && (run ? html`<${Run} of=${run} skill=${schedule.skill} />` : html`<${Empty} title="This run is not known any more.">The newest 50 runs are kept.<//>`)}
  </section>`
}

function Run({ of: run, skill }) {
  const { planned, startedAt, endedAt, manual, by, error, result } = run
  const facts = {
    outcome: html`<${RunOutcome} of=${run} />`,
    planned: manual
      ? html`<${ByHand} by=${by} />`
      : planned !== undefined && html`<${Moment} at=${planned} />`,
    began: html`<${Moment} at=${startedAt} />${isLate(run) && html`<${Late} of=${run} />`}`,
    ended:
      endedAt !== undefined &&
      html`<${Moment} at=${endedAt} /> <span class="dim"><${Age} at=${endedAt} /> ago</span>`,
    took:
      endedAt === undefined
        ? html`<${Age} at=${startedAt} /> so far`
        : html`${took(endedAt - startedAt)} <span class="dim">from begin to end; lists of runs have the time of the skill alone</span>`,
    skill: html`<a href=${link(['skills', skill])}>${skill}</a>`,
  }
  return html`<${Facts} of=${facts} />
    ${error && html`<h2>Error</h2><pre tabindex="0" aria-label="Error">${error}</pre>`}
    ${result && html`<h2>What it returned</h2><pre tabindex="0" aria-label="What it returned">${result}</pre>`}
    ${!error && !result && endedAt !== undefined && html`<p class="dim">It returned nothing, or what it returned is not kept: only the newest ten runs keep it.</p>`}`
}
