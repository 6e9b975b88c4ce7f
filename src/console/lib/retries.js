import { useEffect } from 'preact/hooks'
import { sinceCounts, sinceWord } from '../../lib/later-word.ts'
import { openFailures } from '../../lib/open-failures.ts'
import { IN_PROGRESS, OUTCOMES } from '../../lib/outcomes.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { changes, jobsVersion } from './live.js'
import { Age, Badge, OUTCOME_KINDS, useLoaded } from './parts.js'
import { link } from './router.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** Polling interval (ms) while something is open, and otherwise. */
const POLL_INTERVAL = { open: 1_000, settled: 30_000 }

/**
 * The jobs that retried dead letters, with the present outcomes of the messages. `filter`:
 * arguments of `dead-letter-retries`.
 */
export function useRetries(filter) {
  const loaded = useLoaded(
    (signal) => invoke('dead-letter-retries', filter, signal),
    [JSON.stringify(filter), startedJobs.value, jobsVersion.value, changes.dead.value],
  )
  const { value = [], reload } = loaded
  const isOpen = value.some(
    ({ state, outcomes }) =>
      state === 'running' || Object.keys(outcomes).some((each) => IN_PROGRESS.includes(each)),
  )
  useEffect(() => {
    const every = isOpen ? POLL_INTERVAL.open : POLL_INTERVAL.settled
    const timer = setInterval(() => document.hidden || reload(), every)
    return () => clearInterval(timer)
  }, [isOpen])
  return loaded
}

/** The last jobs that retried dead letters, one line each. `of`: the filter of the list. */
export function Retries({ of: { queue, group, code, pattern } = {}, since, limit = 3 }) {
  const narrowed = Object.entries({ queue, group, code, pattern }).filter(([, value]) => value)
  const { value = [] } = useRetries({ ...Object.fromEntries(narrowed), since, limit })
  if (value.length === 0) return null
  return html`<ul class="retries" aria-label="Last retries">${value.map((retry) => html`<li key=${retry.job} data-retry=${retry.job}><${RetryLine} of=${retry} /></li>`)}</ul>`
}

function RetryLine({ of }) {
  const { job, startedAt, by } = of
  return html`<a data-row href=${link('dead-letters', { job })}>${titleOf(of)}</a> <span class="dim"><${Age} at=${startedAt} /> ago by ${authorOf(by)}</span> <${Outcomes} of=${of} withState />`
}

/** `31 dead letters of orders retried`; `… being retried` while the job runs. */
export function titleOf({ target, done, total, state, retried }) {
  const many = state === 'running' ? total : Math.max(done, retried)
  const name = target.group ?? (target.queue === 'dispatch' ? 'all routes' : target.queue)
  return `${count(many, 'dead letter')}${name ? ` of ${name}` : ''} ${state === 'running' ? 'being retried' : 'retried'}`
}

/**
 * How many messages have each outcome, and how many of those that failed again were handled since.
 * `withState`: also shows a final state other than `done`.
 */
export function Outcomes({ of: { outcomes, retried, done, state, error, later }, withState = false }) {
  const known = OUTCOMES.filter((each) => outcomes[each] > 0)
  const others = Object.keys(outcomes).filter((each) => outcomes[each] > 0 && !known.includes(each))
  const number = (value) => value.toLocaleString('en')
  const isOver = openFailures({ outcomes, later }) === 0
  const kindOf = (each) =>
    each === 'dead' && isOver ? 'dim' : (OUTCOME_KINDS[each] ?? KINDS[each] ?? 'busy')
  return html`<span class="outcomes">${[...known, ...others].map((each) => html`<${Badge} key=${each} kind=${kindOf(each)}>${number(outcomes[each])} ${retriedWord(each, outcomes[each])}<//> `)}
    ${done > retried && retried > 0 && state !== 'running' && html` <span class="dim">(the first ${number(retried)})</span>`}
    <${Since} of=${later} />
    ${withState && state !== 'done' && state !== 'running' && html` <${Badge} kind="bad">${state}<//>`}${error && html` <span class="error">${error.message}</span>`}</span>`
}

/** What became since of what a job left: `201 delivered in job 2f8e0c11`, with a link. */
export function Since({ of: later }) {
  return sinceCounts(later).map((each) => {
    const { word, job } = each
    const text = `${each.count.toLocaleString('en')} ${sinceWord(each)}`
    return html` <span key=${word} class="dim">${job ? html`<a href=${link(['jobs', job])}>${text}</a>` : text}</span>`
  })
}

const KINDS = { dead: 'bad', erased: 'dim', expired: 'dim', withdrawn: 'dim', retried: 'dim' }
