import { useEffect } from 'preact/hooks'
import { isInProgress } from '../../lib/outcomes.ts'
import { paceText } from '../../lib/pace-text.ts'
import { isGroupReplay } from '../../lib/replay-reads.ts'
import { deliverable, isFinishedSince, isNothingErased, unfinished } from '../../lib/unfinished-job.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { patternInWords } from '../lib/cause.js'
import { deliverWithdrawn, pausePush } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { Waits } from '../lib/job-waits.js'
import {
  aboutJob,
  badgeOf,
  barOf,
  canCancel,
  isDelivering,
  isInResult,
  KIND_NAMES,
  leftOf,
  nextIn,
  paceOf,
  progressOf,
  resultOf,
  shownTime,
  tookOf,
} from '../lib/job-words.js'
import { cancelJob, Deliveries } from '../lib/jobs.js'
import { OpenWent } from '../lib/kept-rows.js'
import { clock, jobsVersion, now } from '../lib/live.js'
import { Outside } from '../lib/outside.js'
import { Age, Badge, CopyLink, Empty, Facts, Json, Moment, useLoaded, Wait, Words } from '../lib/parts.js'
import { Outcomes } from '../lib/retries.js'
import { RetryAgain } from '../lib/retry-again.js'
import { link } from '../lib/router.js'
import { SaveProof } from '../lib/save-proof.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { Erased } from './erasure.js'
import { JobCauses } from './job-causes.js'
import { JobItems } from './job-items.js'

/** Polling interval (ms) of a running job. */
const POLL_INTERVAL = 1_000
/** Interval (ms) at which the outcomes of messages and events are read again. */
const OUTCOMES_INTERVAL = 5_000
/** How long (ms) after a cancellation the last step may take. */
const ENDING_TIME = 10_000
/** How long (ms) after the end of a job the counts of its push may lag. */
const COUNTING_TIME = 60_000

/** One long job: its parameters, progress, speed and result. */
export function JobPage({ id }) {
  const loaded = useLoaded((signal) => invoke('job-show', { id }, signal), [id, jobsVersion.value])
  const { value: job, error, reload } = loaded
  const interval = job && intervalOf(job)
  useEffect(() => {
    if (interval === undefined) return undefined
    const timer = setInterval(() => document.hidden || reload(), interval)
    return () => clearInterval(timer)
  }, [interval])
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="jobs" />
    ${error?.code === 'job_not_found' ? html`<h1 id="title">Job</h1><${Empty} title="There is no such job.">Jobs are kept for a week after their end.<//>` : html`<${Wait} of=${loaded} what="the job" />`}
    ${job && html`<${Job} job=${job} reload=${reload} />`}
  </section>`
}

/** How often (ms) a job is read again; undefined once nothing of it changes by itself. */
function intervalOf(job) {
  // The last step of a cancelled job may still end, and count.
  const isEnding = job.state === 'cancelled' && clock.value - job.endedAt < ENDING_TIME
  if (job.state === 'running' || isEnding || job.withdrawing) return POLL_INTERVAL
  const isLaterOpen = job.later?.some((each) => each.do === 'replay' && !each.delivered)
  // The counts of a push may lag behind the end of its last delivery.
  const isOpen = isDelivering(job) || isInProgress(job.outcomes) || isLaterOpen || isCounting(job)
  return isOpen ? OUTCOMES_INTERVAL : undefined
}

/** Whether the outcomes of a replay do not have all its events yet. */
function isCounting({ kind, outcomes, result, endedAt = 0 }) {
  if (kind !== 'replay' || !outcomes || outcomes.withdrawn !== undefined) return false
  const { delivered = 0, dead = 0, read = 0, removed = 0 } = outcomes
  return delivered + dead + read + removed < (result?.events ?? 0) && clock.value - endedAt < COUNTING_TIME
}

function Job({ job, reload }) {
  const { id, kind, state, by, startedAt, endedAt, settledAt, at, result, error, retryAt, cancelled } = job
  const isRunning = state === 'running'
  const badge = badgeOf(job)
  const bar = barOf(job)
  const push = now.value?.subscriptions?.find(({ name }) => name === job.target.subscription)
  const isPaused = (job.waitsFor ?? []).some((each) => each.kind === 'subscription')
  const facts = {
    result: result && resultOf(job),
    ...deliveryOf(
      job,
      push && !isPaused && isDelivering(job) && html` <${Delivery} of=${job} push=${push} />`,
    ),
    'not delivered yet': !job.outcomes && push && html`<${Undelivered} of=${push} />`,
    error:
      error &&
      html`<span class="error">${error.message}</span> <code>${error.code}</code>${retryAt !== undefined && html` <span class="dim">${nextIn(retryAt)}</span>`}`,
    progress: !isInResult(job) && html`${progressOf(job)}${isRunning && at && `, now: ${at}`}`,
    speed: speedOf(job),
    kind: KIND_NAMES[kind] ?? kind,
    'started by': html`${authorOf(by)} <a class="dim" href=${link('audit', { what: id })}>audit entry</a>`,
    started: html`<${Moment} at=${startedAt} /> <span class="dim"><${Age} at=${startedAt} /> ago</span>`,
    [isDelivering(job) ? 'all queued' : settledAt && kind === 'replay' ? 'delivered at' : 'ended']:
      endedAt !== undefined &&
      !cancelled &&
      html`<${Moment} at=${settledAt ?? endedAt} /> <span class="dim">${isDelivering(job) ? `${tookOf(job)} so far` : tookOf(job)}</span>`,
    'last step': isRunning && html`<${Age} at=${job.updatedAt} /> ago`,
    id: html`<code>${id}</code>`,
  }
  return html`<header class="bar job-bar"><h1 id="title">${aboutJob(job)} <${Badge} kind=${badge.kind}>${badge.text}<//></h1>
      <div class="buttons">${canCancel(job) && html`<button changes type="button" class="danger" onClick=${() => cancelJob(job, reload)}>Cancel …</button>`}<${SaveProof} of=${job} /><${CopyLink} /></div></header>
    ${cancelled && html`<p class="dim">Cancelled <${Age} at=${cancelled.at} /> ago, <${Moment} at=${cancelled.at} />${cancelled.by && ` by ${authorOf(cancelled.by)}`}, ${tookOf(job)}.</p>`}
    ${bar && html`<progress ...${bar} aria-label="Progress"></progress>`}
    ${job.target.do === 'retry' && job.outcomes && html`<${RetryOutcome} of=${job} />`}
    <${Waits} of=${job} done=${reload} />
    <${Unfinished} of=${job} />
    <${Facts} of=${facts} />
    ${kind === 'person-erase' && html`<${ErasedRecords} of=${job} />`}
    ${kind === 'person-erase' && state === 'done' && result && html`<${LeftToDo} of=${result} />`}
    <${JobCauses} of=${job} />
    ${kind !== 'person-erase' && html`<${JobItems} of=${job} />`}
    <h2>Asked for</h2>
    <${Target} of=${job} />
    ${kind !== 'person-erase' && html`<details><summary>As JSON</summary><${Json} value=${job} label="The job" /></details>`}`
}

/** The outcomes of a replay, and its `delivery`. For a cancelled one: delivered and withdrawn events, with times. */
function deliveryOf(job, delivery) {
  const { kind, outcomes, cancelled, settledAt, withdrawing } = job
  if (kind !== 'replay' || !outcomes) return {}
  if (isGroupReplay(job)) return { read: html`<${Deliveries} of=${job} />` }
  if (!cancelled || withdrawing) return { events: html`<${Deliveries} of=${job} />${delivery}` }
  const { delivered = 0, withdrawn = 0, ...others } = outcomes
  const isOther = Object.values(others).some((many) => many > 0)
  return {
    delivered:
      delivered === 0
        ? 'none'
        : html`${count(delivered, 'event')}${settledAt !== undefined && html`, ${delivered > 1 && 'the last at '}<${Moment} at=${settledAt} />`}`,
    withdrawn: withdrawn > 0 && html`${count(withdrawn, 'event')}, <${Moment} at=${cancelled.at} />`,
    'the others': isOther && html`<${Deliveries} of=${{ ...job, outcomes: others }} />`,
  }
}

/** How many retried messages have each outcome. */
function RetryOutcome({ of: job }) {
  const retried = Object.values(job.outcomes).reduce((sum, many) => sum + many, 0)
  const done = job.result?.count ?? job.done
  return html`<p><${Outcomes} of=${{ ...job, error: undefined, retried, done }} /> <${RetryAgain} of=${job} /> <a href=${link('dead-letters', { job: job.id })}>See the messages</a></p>`
}

/** What a cancelled or failed job did not do, and where to finish. */
function Unfinished({ of: job }) {
  const sentences = unfinished(job)
  if (sentences.length === 0) return null
  const { topic, group, subscription, do: _, letters, ...filter } = job.target
  const isKnown = letters !== undefined || job.result?.withdrawn > 0
  const finish = {
    'dead-letters': ['Dead letters', link('dead-letters', isKnown ? { job: job.id } : { group, ...filter })],
    replay: [subscription ?? group, link(['queues', topic, subscription ?? group])],
    'person-erase': ['People', link('people')],
  }
  const [name, to] = finish[job.kind]
  const { withdrawn } = job.kind === 'person-erase' ? (job.result ?? {}) : {}
  const left = job.kind === 'replay' ? deliverable(job) : 0
  const later = (job.later ?? []).filter((each) => each.do === 'replay')
  return html`<p class=${`now-it unfinished${isFinishedSince(job) ? '' : ' warn'}`}>${sentences.join(' ')} ${left > 0 && html`<button changes type="button" class="small" onClick=${() => deliverWithdrawn(job, left)}>Deliver ${count(left, 'event')} …</button> `}${later.map((each) => html`<a key=${each.job} href=${link(['jobs', each.job])}>Later replay</a> `)}<a href=${to}>${name}</a>${withdrawn && html` <a href=${link('messages', { outcome: 'dropped' })}>Dropped messages</a>`}</p>`
}

/** How fast the push delivers a replay, the time left, and how to hold it back. */
function Delivery({ of: job, push }) {
  return html`${paceOf(job)} <button changes type="button" class="small" onClick=${() => pausePush(push)}>Pause the push …</button>`
}

/**
 * What the push of a replay has not delivered yet, including events of others. The receiver may
 * fail long after the job has ended.
 */
function Undelivered({ of: { name, topic, waiting, dead } }) {
  const left = html`<a href=${link(['queues', topic, name])}>${count(waiting, 'event')}</a>`
  return html`${waiting > 0 ? left : 'nothing'} of ${name}${dead > 0 && html`, <a href=${link('dead-letters', { queue: `push/${name}` })}>${count(dead, 'dead letter')}</a>`}`
}

/** The mean speed, and the time left at this speed while it runs. */
function speedOf({ kind, state, startedAt, endedAt, updatedAt, done, total }) {
  const ms = (endedAt ?? updatedAt) - startedAt
  if (kind === 'person-erase' || done === 0 || ms < 1_000) return undefined
  return paceText((done * 1_000) / ms, state === 'running' ? total - done : 0)
}

/** What the job works on, with links. An erasure does not keep the names of the person. */
function Target({ of: { kind, target } }) {
  if (kind === 'person-erase')
    return html`<p class="dim">The job does not keep whom it erases. <a href=${link('people')}>People</a></p>`
  const { topic, group, subscription, route, withdrawn, job, letters, ...range } = target
  const others = withdrawn === undefined ? range : {}
  const named = Object.entries(others).map(([name, value]) => [
    NAMES[name] ?? name,
    name === 'pattern' ? patternInWords(value) : shownTime(value),
  ])
  if (kind !== 'replay') {
    const isRoute = others.queue === 'dispatch' && group !== undefined
    const routeLink = isRoute && html`<a href=${link(['routes', group])}>${group}</a>`
    return html`<${Facts} of=${{ ...Object.fromEntries(named), [isRoute ? 'route' : 'group']: routeLink || group, chosen: letters && count(letters, 'dead letter'), 'left by': job && html`<a href=${link(['jobs', job])}>an earlier retry</a>` }} />`
  }
  const receiver = html`<a href=${link(['queues', topic, group])}>${subscription ?? group}</a>`
  const events =
    withdrawn && html`<a href=${link(['jobs', withdrawn])}>withdrawn events of another replay</a>`
  const all = named.length === 0 && { events: events || 'all retained events' }
  return html`<${Facts} of=${{ topic, [subscription ? 'push' : 'group']: receiver, ...Object.fromEntries(named), ...all }} />`
}

/** What an erasure erased, and where copies may be that Trivium cannot erase. */
function ErasedRecords({ of: { state, result } }) {
  const isAny = Object.values(result?.counts ?? {}).some((many) => many > 0)
  return html`${isAny && html`<h2>Erased</h2><${OpenWent} of=${result} /><${Erased} of=${result} />`}
    ${result && !isNothingErased(result) && (state === 'done' || result.outside) && html`<${Outside} of=${result.outside} receivers=${result.receivers} />`}`
}

/** What an erasure did not do. */
function LeftToDo({ of }) {
  const left = leftOf(of)
  if (left.length === 0) return null
  return html`<h2>Left to do</h2><ul class="plain">${left.map((text) => html`<li key=${text}><${Words} text=${text} /></li>`)}</ul>`
}

const NAMES = { do: 'action', code: 'error code', pattern: 'error', error: 'error contains' }
