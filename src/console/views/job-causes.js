import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { nextIn } from '../lib/job-words.js'
import { link } from '../lib/router.js'
import { ItemOutcome, ItemText, Later, whyOf } from './job-item.js'

/** The messages or events of a job by outcome and cause, unless all are done. */
export function JobCauses({ of: job }) {
  const { groups = [] } = job
  const isSaid = groups.every(
    ({ outcome, error }) => outcome === 'done' || (error === undefined && !isToExplain(outcome)),
  )
  if (groups.length === 0 || isSaid) return null
  return html`<h2>By cause</h2><ul class="plain job-groups" aria-label="By cause">${groups.map((group) => html`<li key=${keyOf(group)}><${Group} of=${group} job=${job} /></li>`)}</ul>`
}

/** Outcomes that need someone, also without an error. */
function isToExplain(outcome) {
  return ['dead', 'undelivered', 'bounced', 'retrying'].includes(outcome)
}

const keyOf = ({ outcome, later, queue, group, code, pattern }) =>
  [outcome, later?.do, later?.job, later?.now, queue, group, code, pattern].join(' ')

/** `6 × failed again: the directory answered 502`, with an example, and where its messages are. */
function Group({ of: group, job }) {
  const { outcome, count: many, error, nextAt, later, example } = group
  const row = (job.messages ?? []).find(({ id }) => id === example?.id) ?? {}
  const isError = outcome !== 'dropped'
  const why = error
    ? html`<span class=${isError ? 'error' : 'dim'}>${isError ? causeOf(error) : error}</span>`
    : whyOf({ ...row, outcome })
  const place = placeOf(group, job)
  return html`<b>${many.toLocaleString('en')} ×</b> <${ItemOutcome} outcome=${outcome} job=${job} /> ${why}${later && html` <${Later} of=${later} />`}${nextAt !== undefined && html` <span class="dim">${nextIn(nextAt)}</span>`}${place && html` <a href=${place.to}>${place.text}</a>`}
    ${example && outcome !== 'done' && html`<span class="about">such as <${ItemText} of=${{ queue: group.queue, outcome, later, ...example }} job=${job} /></span>`}`
}

/** Where the messages of a group are, if a filter finds them. */
function placeOf({ outcome, later, queue, group, code, pattern }, { id, kind, target }) {
  if (later) return undefined
  if (outcome === 'dead' || (outcome === 'withdrawn' && kind !== 'replay')) {
    const job = target.do === 'retry' ? { job: id } : {}
    return { text: 'Dead letters', to: link('dead-letters', { ...job, queue, group, code, pattern }) }
  }
  if (queue !== 'dispatch' || !(outcome === 'retrying' || outcome === 'waiting')) return undefined
  return { text: 'Messages', to: link('messages', { outcome, route: group ?? target.group }) }
}
