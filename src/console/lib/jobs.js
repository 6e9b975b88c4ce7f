import { computed, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { cancelledText, waitingOf } from '../../lib/cancelled-job.ts'
import { countedOpen, openCounts } from '../../lib/open-kinds.ts'
import { isGroupReplay, readsText } from '../../lib/replay-reads.ts'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { causeOf } from './cause.js'
import { html } from './html.js'
import { Waits } from './job-waits.js'
import {
  aboutJob,
  badgeOf,
  barOf,
  canCancel,
  isDelivering,
  isInResult,
  nextIn,
  paceOf,
  progressOf,
  resultOf,
  tookOf,
} from './job-words.js'
import { jobsVersion } from './live.js'
import { Age, act, ask, Badge, dateTime, useLoaded, Wait } from './parts.js'
import { Outcomes, Since, useRetries } from './retries.js'
import { RetryPauses } from './retry-pauses.js'
import { link } from './router.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/**
 * Polling intervals (ms): while a job runs, while its queued work is in progress, and otherwise.
 */
const POLL_INTERVAL = { running: 1_000, delivering: 3_000, idle: 10_000 }
/** Number of jobs that are shown at first. */
const SHOWN_AT_FIRST = 5
/** Maximum number of jobs that are loaded. */
const MAX_JOBS = 200

/**
 * Long jobs with their progress, newest first. They run in the daemon, so closing the page or a
 * restart does not end them. `of`: arguments of `job-list`. `isSelected(job)` selects some of these.
 * `ended` is called when one of them ends. `none`: what is shown if there are no jobs. `isAll`: shows
 * all, without a heading. `isFolded`: shows only their number at first.
 */
export function Jobs({ of = {}, isSelected = () => true, ended, none = null, ...look }) {
  const { isAll = false, isFolded = false, title = 'Jobs' } = look
  const loaded = useLoaded(
    (signal) => invoke('job-list', { ...of, limit: MAX_JOBS }, signal),
    [startedJobs.value, jobsVersion.value, JSON.stringify(of)],
  )
  const { value, error, reload } = loaded
  const [isOpen, setOpen] = useState(isAll)
  const jobs = (value ?? []).filter(isSelected)
  const pace = pollOf(jobs)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL[pace])
    return () => clearInterval(timer)
  }, [pace])
  // Compares ended jobs, because a short job may never have been seen running.
  const endedIds = value?.flatMap(({ id, state }) => (state === 'running' ? [] : [id]))
  const knownEnded = useRef()
  useEffect(() => {
    if (knownEnded.current && endedIds.some((id) => !knownEnded.current.includes(id))) ended?.()
    knownEnded.current = endedIds
  }, [endedIds?.join()])
  const status = (isAll || error) && html`<${Wait} of=${loaded} what="the jobs" />`
  if (!value) return status
  if (jobs.length === 0) return error ? status : none
  const shown = isOpen ? jobs : jobs.slice(0, SHOWN_AT_FIRST)
  const list = html`<ul>${shown.map((job) => html`<${Job} key=${job.id} job=${job} reload=${reload} />`)}</ul>
    ${jobs.length > shown.length && html`<p><button type="button" onClick=${() => setOpen(true)}>Show all ${jobs.length}</button></p>`}`
  const isCut = isAll && value.length === MAX_JOBS
  return html`<section class="jobs" aria-label=${isAll ? 'All jobs' : title}>${!isAll && !isFolded && html`<h2>${title}</h2>`}${status}${isFolded ? html`<details><summary>${title}: ${jobs.length}</summary>${list}</details>` : list}
    ${isCut && html`<p class="dim">The newest ${MAX_JOBS} jobs are shown. A time range shows older ones.</p>`}</section>`
}

function pollOf(jobs) {
  if (jobs.some(({ state, withdrawing }) => state === 'running' || withdrawing)) return 'running'
  // A group without a reader can stay unread for days, and its events are the most expensive to count.
  const isSoon = ({ target }) => target.subscription !== undefined || target.do === 'retry'
  return jobs.some((job) => isDelivering(job) && isSoon(job)) ? 'delivering' : 'idle'
}

/**
 * Asks for confirmation, then cancels a job. A job that has queued all its work can be cancelled while
 * some of it waits. The dialog follows the job: once nothing is left to cancel, it cannot be confirmed.
 */
export async function cancelJob(job, reload) {
  const current = signal(job)
  const isReady = computed(() => canCancel(current.value))
  const body = html`<${CancelEffect} current=${current} />`
  const title = 'Cancel this job?'
  const leave = html`<${Leave} current=${current} />`
  if (!(await ask({ title, body, isReady, action: 'Cancel the job', leave, danger: true }))) return reload()
  await act(async () => {
    const cancelled = await invoke('job-cancel', { id: job.id })
    const text = cancelledText(cancelled)
    return text === undefined ? 'The job is cancelled.' : `The job is cancelled: ${text}.`
  })
  reload()
}

function Leave({ current }) {
  return canCancel(current.value) ? 'Leave it' : 'Close'
}

/** What a cancellation does to a job, as it is now. */
function CancelEffect({ current }) {
  const job = current.value
  useEffect(() => {
    const read = () =>
      invoke('job-show', { id: job.id }).then(
        (value) => {
          current.value = value
        },
        () => {},
      )
    void read()
    const timer = setInterval(read, POLL_INTERVAL.running)
    return () => clearInterval(timer)
  }, [])
  return html`<p>${aboutJob(job)}</p><p role="status">${effectOf(job)}</p>`
}

function effectOf(job) {
  const { kind, state, target, outcomes = {} } = job
  if (!canCancel(job)) return html`<b>It has ended: ${badgeOf(job).text}.</b> Nothing is left to cancel.`
  if (kind === 'replay' && target.subscription !== undefined) {
    const { waiting = 0, delivered = 0 } = outcomes
    const left = state === 'running' ? '' : `: ${count(waiting, 'event')}`
    return `What waits of it is withdrawn${left}. What is being sent is not tried again. What was delivered stays delivered: ${count(delivered, 'event')}.`
  }
  if (kind === 'replay' && state !== 'running') {
    const { waiting = 0, read } = outcomes
    const already = read === undefined ? '' : `: ${count(read, 'event')}`
    return `What is not read yet is withdrawn: ${read === undefined ? 'at least ' : ''}${count(waiting, 'event')}. A reader keeps the events that it has now. What was read stays read${already}.`
  }
  if (target.do === 'retry') {
    const { done = 0, running = 0 } = outcomes
    const waiting = waitingOf(outcomes)
    return [
      state === 'running' && 'It ends after the current step.',
      waiting > 0 &&
        `What waits of it becomes a dead letter again, with its former error: ${count(waiting, 'message')}.`,
      running > 0 &&
        `What runs becomes a dead letter again if its attempt fails: ${count(running, 'message')}.`,
      done > 0 && `What is done stays done: ${count(done, 'message')}.`,
    ]
      .filter(Boolean)
      .join(' ')
  }
  const { records, open } = job.soFar ?? {}
  if (kind === 'person-erase' && records !== undefined) return gone(records, open)
  return 'It ends after the current step. Completed steps are not undone.'
}

/** What an erasure has already erased. */
function gone(records, open = {}) {
  if (records === 0) return 'It ends after the current step. No record is erased so far.'
  const was = openCounts(open).map(({ kind, count: many }) => countedOpen(kind, many))
  const included = was.length > 0 ? `, with what was open: ${was.join(', ')}` : ''
  return `It ends after the current step. Gone already: ${count(records, 'record')}${included}. The rest stays.`
}

/** The present outcomes of the events of a replay. */
export function Deliveries({ of: job }) {
  const { outcomes, target } = job
  if (isGroupReplay(job)) return html`<${Reads} of=${job} />`
  const { delivered, waiting, dead, removed, withdrawn, interrupted } = outcomes
  const letters = link('dead-letters', { queue: `push/${target.subscription}` })
  const push = link(['queues', target.topic, target.subscription])
  const number = (value) => value.toLocaleString('en')
  return html`<span class="outcomes">${dead > 0 && html`<a href=${letters}><${Badge} kind="bad">${number(dead)} dead<//></a> `}${waiting > 0 && html`<a href=${push} title="The push and its events"><${Badge} kind="warn">${number(waiting)} waiting<//></a> `}${delivered > 0 && html`<${Badge} kind="good">${number(delivered)} delivered<//> `}${withdrawn > 0 && html`<${Badge} kind="dim">${number(withdrawn)} withdrawn<//> `}${interrupted > 0 && html`<${Badge} kind="dim">${number(interrupted)} interrupted<//>`}${removed > 0 && html` <${Badge} kind="dim" title="Erased, skipped or taken out of the queue before they were sent">${number(removed)} removed since<//>`}</span>`
}

/** How many events of a replay its group has read. */
function Reads({ of: { outcomes, target } }) {
  const { waiting, withdrawn, leased } = outcomes
  const isWaiting = waiting > 0
  const group = link(['queues', target.topic, target.group])
  const number = (value) => value.toLocaleString('en')
  const isUnknown = withdrawn > 0 && outcomes.read === undefined
  const text = withdrawn > 0 ? `${number(outcomes.read ?? 0)} read` : readsText(outcomes, true)
  const reads = isUnknown ? null : html`<${Badge} kind=${isWaiting ? 'warn' : 'good'}>${text}<//>`
  return html`<span class="outcomes">${isWaiting ? html`<a href=${group} title="The group and its readers">${reads}</a>` : reads}${withdrawn > 0 && html` <${Badge} kind="dim">${number(withdrawn)} withdrawn<//>`}${leased > 0 && html` <${Badge} kind="dim" title="Their reader had them when the job was cancelled">${number(leased)} being read<//>`}</span>`
}

/** The outcomes of the messages that a job retried. */
function Retried({ of: job }) {
  const retried = Object.values(job.outcomes).reduce((sum, many) => sum + many, 0)
  const done = job.result?.count ?? job.done
  return html`<${Outcomes} of=${{ ...job, error: undefined, retried, done }} />`
}

/** The pauses that hold those of the retried messages that wait. */
function Held({ job }) {
  const [retry] = useRetries({ job }).value ?? []
  return retry ? html`<${RetryPauses} of=${retry} />` : null
}

/** The outcomes of what a job queued, in one line. */
function JobOutcomes({ of: job }) {
  if (!job.outcomes) return null
  if (job.kind === 'replay')
    return html`<${Deliveries} of=${job} /><${Since} of=${job.later} /> <span class="dim">${paceOf(job)}</span>`
  return job.target.do === 'retry' && job.state !== 'running' && html`<${Retried} of=${job} />`
}

/** Why messages of a retry failed, unless its title says it, and the next attempt. */
function Causes({ of: { causes = [], target } }) {
  return causes.map(
    ({ error, pattern, nextAt, isOver }) =>
      (pattern !== target.pattern || nextAt !== undefined) &&
      html`<p key=${`${pattern} ${isOver}`} class="job-cause">${pattern !== target.pattern && html`<span class=${isOver ? 'dim' : 'error'}>${causeOf(error)}</span> `}${nextAt !== undefined && html`<span class="dim">${nextIn(nextAt)}</span>`}</p>`,
  )
}

/** `cancelled by alice, after 26 s`, or how long it took. */
function endOf(job) {
  const { by } = job.cancelled ?? {}
  return job.cancelled
    ? `cancelled${by === undefined ? '' : ` by ${authorOf(by)}`} ${tookOf(job)}`
    : tookOf(job)
}

/**
 * The progress and the result of a job; empty if its outcomes have the same numbers. What a replay left
 * out is on its page.
 */
function workOf(job) {
  const progress = !isInResult(job) && progressOf(job)
  const result = job.result && resultOf(job).replace(/; left out: .*/, '')
  const isWithdrawn = job.target.do === 'retry' && job.result?.withdrawn > 0 && job.done === job.total
  const isAny = Object.values(job.outcomes ?? {}).some((many) => many > 0)
  const isSaid = isAny && (job.state === 'done' || isWithdrawn)
  return isSaid ? '' : [progress, result].filter(Boolean).join(': ')
}

function Job({ job, reload }) {
  const { id, kind, state, by, startedAt, endedAt, at, outcomes, error } = job
  const badge = badgeOf(job)
  const bar = barOf(job)
  const progress = workOf(job)
  const isHeld = kind !== 'replay' && state !== 'running' && outcomes?.waiting > 0
  // The age of a job in progress is how long it runs.
  const end = endedAt !== undefined && !isDelivering(job) && endOf(job)
  return html`<li class="card job" aria-label=${aboutJob(job)}>
    <div><p><${Badge} kind=${badge.kind}>${badge.text}<//> <a data-row href=${link(['jobs', id])}><b>${aboutJob(job)}</b></a> <${JobOutcomes} of=${job} /></p>
    ${bar && html`<progress ...${bar} aria-label="Progress"></progress>`}
    <p class="dim">${progress}${state === 'running' && at && `, now: ${at}`}${progress && ' · '}<span class="job-date">${dateTime(startedAt)}, </span><${Age} at=${startedAt} /> ago by ${authorOf(by)}${end && `, ${end}`}</p>
    ${isHeld && html`<${Held} job=${id} />`}
    <${Causes} of=${job} />
    ${kind === 'replay' && outcomes && html`<${Waits} of=${job} done=${reload} isShort />`}
    ${error && html`<p class="error">${error.message}</p>`}</div>
    ${canCancel(job) && html`<button changes type="button" onClick=${() => cancelJob(job, reload)}>Cancel …</button>`}
  </li>`
}
