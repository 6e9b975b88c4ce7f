import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { Age, act, ask, Badge, dateTime, span, useLoaded, Wait } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

/** Polling interval in ms, while something runs and otherwise. */
const POLL_INTERVAL = { running: 1_000, idle: 10_000 }
/** Kinds of badges, by the state of the job. */
const BADGES = { running: 'busy', done: 'good', failed: 'bad', cancelled: 'dim' }
/** Maximum number of jobs that are shown at first, and that are loaded. */
const SHOWN = 5
const MAX_JOBS = 200

/** Labels of the kinds of jobs. */
export const KIND_NAMES = {
  replay: 'replay',
  'dead-letters': 'dead letters',
  'person-erase': 'erase a person',
}

/** Number of jobs started by this page: increment it, so that lists of jobs are reloaded. */
export const startedJobs = signal(0)

/**
 * Long jobs with their progress, newest first. They run in the daemon, so closing the page or a
 * restart does not end them. `isSelected(job)` selects jobs. `ended` is called when one of them ends.
 * `none`: shown without jobs. `isAll`: shows all, without a heading.
 */
export function Jobs({ isSelected = () => true, ended, none = null, isAll = false }) {
  const loaded = useLoaded((signal) => invoke('job-list', { limit: MAX_JOBS }, signal), [startedJobs.value])
  const { value, error, reload } = loaded
  const [isOpen, setOpen] = useState(isAll)
  const jobs = (value ?? []).filter(isSelected)
  const running = jobs.flatMap(({ id, state }) => (state === 'running' ? [id] : []))
  const isRunning = running.length > 0
  useEffect(() => {
    const timer = setInterval(
      () => document.hidden || reload(),
      isRunning ? POLL_INTERVAL.running : POLL_INTERVAL.idle,
    )
    return () => clearInterval(timer)
  }, [isRunning])
  const [previous, setPrevious] = useState([])
  useEffect(() => {
    const hasEnded = (id) => (value ?? []).some((job) => job.id === id && job.state !== 'running')
    if (previous.some(hasEnded)) ended?.()
    setPrevious(running)
  }, [running.join()])
  const status = (isAll || error) && html`<${Wait} of=${loaded} what="the jobs" />`
  if (!value) return status
  if (jobs.length === 0) return error ? status : none
  const shown = isOpen ? jobs : jobs.slice(0, SHOWN)
  return html`<section class="jobs" aria-label=${isAll ? 'All jobs' : 'Jobs'}>${!isAll && html`<h2>Jobs</h2>`}${status}<ul>${shown.map((job) => html`<${Job} key=${job.id} job=${job} reload=${reload} />`)}</ul>
    ${jobs.length > shown.length && html`<p><button type="button" onClick=${() => setOpen(true)}>Show all ${jobs.length}</button></p>`}</section>`
}

function Job({ job, reload }) {
  const { id, state, by, startedAt, endedAt, done, total, at, result, error } = job
  const cancel = async () => {
    const title = 'Cancel this job?'
    const body = html`<p>${aboutJob(job)}</p><p>It ends after the current step. Completed steps are not undone.</p>`
    if (!(await ask({ title, body, action: 'Cancel the job', leave: 'Keep running', danger: true }))) return
    await act(async () => {
      await invoke('job-cancel', { id })
      return 'The job is cancelled.'
    })
    reload()
  }
  return html`<li class="card job" data-row tabindex="-1" aria-label=${aboutJob(job)}>
    <div><p><${Badge} kind=${BADGES[state]}>${state}<//> <b>${aboutJob(job)}</b> <${Where} of=${job} /></p>
    ${state === 'running' && html`<progress max=${Math.max(1, total)} value=${done} aria-label="Progress"></progress>`}
    <p class="dim">${done.toLocaleString('en')} of ${total.toLocaleString('en')}${state === 'running' && at && ` (now: ${at})`}${result && `; ${resultOf(job)}`} · by ${authorOf(by)}, ${dateTime(new Date(startedAt).getTime())} (<${Age} at=${startedAt} /> ago)${endedAt !== undefined && `, took ${span(Math.max(0, endedAt - startedAt))}`}</p>
    ${error && html`<p class="error">${error.message}</p>`}</div>
    ${state === 'running' && html`<button changes type="button" onClick=${cancel}>Cancel …</button>`}
  </li>`
}

/** A link to the group or the dead letters of a job. */
function Where({ of: { kind, target } }) {
  if (kind === 'replay')
    return html`<a class="dim" href=${link(['queues', target.topic, target.group])}>see it</a>`
  if (kind === 'dead-letters')
    return html`<a class="dim" href=${link('dead-letters', target.queue ? { queue: target.queue } : {})}>see them</a>`
  return null
}

/** A description of a job in one line. */
function aboutJob({ kind, target }) {
  const { topic, group, subscription, since, until, from, to } = target
  if (kind === 'replay') {
    const range = [
      (since ?? from) && `from ${shownTime(since ?? from)}`,
      (until ?? to) && `to ${shownTime(until ?? to)}`,
    ].filter(Boolean)
    const receiver = subscription ? `push ${subscription}` : `group ${group}`
    return `Replay ${topic} to ${receiver}, ${range.length > 0 ? range.join(' ') : 'all retained events'}`
  }
  if (kind === 'dead-letters') {
    const { do: verb, ...filter } = target
    const conditions = Object.entries(filter).map(([key, value]) => `${key} ${shownTime(value)}`)
    const action = `${verb === 'retry' ? 'Retry' : 'Drop'} dead letters`
    return conditions.length > 0 ? `${action}: ${conditions.join(', ')}` : action
  }
  if (kind === 'person-erase') return 'Erase a person'
  return `${kind} ${Object.values(target).join(' ')}`
}

/** A time of ISO 8601 in the time of this browser; ids and names unchanged. */
function shownTime(text) {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? dateTime(new Date(text).getTime()) : text
}

function resultOf({ result, target }) {
  if (result.events !== undefined) {
    const unread = result.unread > 0 && `, ${count(result.unread, 'event')} not read yet left in place`
    return `${count(result.events, 'event')} replayed${unread || ''}`
  }
  if (result.records !== undefined)
    return [`${result.records.toLocaleString('en')} records were erased`, ...laterOf(result)].join('; ')
  if (result.count !== undefined)
    return `${result.count.toLocaleString('en')} were ${target.do === 'retry' ? 'retried' : 'dropped'}`
  return JSON.stringify(result).slice(0, 200)
}

/** Data directories of daemons that did not run. */
function laterOf({ later = [] }) {
  return later.map(({ host }) => `the data directory on ${host} is erased when its daemon runs again`)
}
