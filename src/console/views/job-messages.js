import { laterWord } from '../../lib/later-word.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { scheduledRun } from '../../lib/scheduled-run.ts'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Badge, dateTime, Outcome, preview, span } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Maximum characters of a message in a row. */
const MAX_TEXT = 160

/**
 * The messages of retried or dropped letters, or the events of a replay that are not delivered: by
 * outcome and cause, and the first of them one by one.
 */
export function JobMessages({ of: job }) {
  const { kind, result, groups = [] } = job
  const rows = job.messages ?? (result?.messages ?? []).map((id) => ({ id, queue: 'dispatch' }))
  if (rows.length === 0 && groups.length === 0) return null
  const counted = groups.reduce((sum, group) => sum + group.count, 0)
  const many = Math.max(rows.length, groups.length > 0 ? counted : (result?.count ?? 0))
  const noun = kind === 'replay' ? 'event' : 'message'
  const isGrouped = groups.some((group) => group.count > 1)
  const isDone = groups.every(({ outcome }) => outcome === 'done')
  const list = html`<ul class="plain">${rows.map((row) => html`<li key=${`${row.queue} ${row.id}`}><${Row} of=${row} job=${job} isShort=${isGrouped} /></li>`)}</ul>`
  const shown = rows.length < many ? `${rows.length} of ${count(many, noun)} shown` : count(many, noun)
  const all = job.target.do === 'retry' && job.outcomes && link('dead-letters', { job: job.id })
  const isCut = rows.length > 0 && rows.length < many
  return html`<h2>${kind === 'replay' ? 'Events not delivered' : 'Messages'}</h2>
    ${isGrouped && !isDone && html`<ul class="plain job-groups" aria-label="By cause">${groups.map((group) => html`<li key=${keyOf(group)}><${Group} of=${group} job=${job} /></li>`)}</ul>`}
    ${isGrouped ? rows.length > 0 && html`<details><summary>${shown}</summary>${list}</details>` : list}
    ${isCut && html`<p class="dim">${!isGrouped && `${shown}. `}${all && html`<a href=${all}>All messages</a>`}</p>`}`
}

const keyOf = ({ outcome, later, queue, group, code, pattern }) =>
  [outcome, later?.do, later?.job, queue, group, code, pattern].join(' ')

/** `6 × failed again: the directory answered 502`, with an example, and where its messages are. */
function Group({ of: group, job }) {
  const { outcome, count: many, error, nextAt, later, example } = group
  const row = (job.messages ?? []).find(({ id }) => id === example?.id) ?? {}
  const why = error ? html`<span class="error">${causeOf(error)}</span>` : whyOf({ ...row, outcome })
  const place = placeOf(group, job)
  return html`<b>${many.toLocaleString('en')} ×</b> <${JobOutcome} outcome=${outcome} job=${job} /> ${why}${later && html` <${Later} of=${later} />`}${nextAt !== undefined && html` <span class="dim">${nextIn(nextAt)}</span>`}${place && html` <a href=${place.to}>${place.text}</a>`}
    ${example && outcome !== 'done' && html`<span class="about">such as <${Text} of=${{ queue: group.queue, outcome, later, ...example }} job=${job} /></span>`}`
}

/** Where the messages of a group are, if a filter finds them. */
function placeOf({ outcome, later, queue, group, code, pattern }, { id, kind, target }) {
  if (later) return undefined
  if (outcome === 'dead' || (outcome === 'withdrawn' && kind !== 'replay')) {
    const job = target.do === 'retry' ? { job: id } : {}
    return { text: 'Dead letters', to: link('dead-letters', { ...job, queue, group, code, pattern }) }
  }
  if (queue?.startsWith('push/'))
    return { text: 'The push', to: link(['queues', target.topic, target.subscription]) }
  if (queue !== 'dispatch' || !(outcome === 'retrying' || outcome === 'waiting')) return undefined
  return { text: 'Messages', to: link('messages', { outcome, route: group ?? target.group }) }
}

/** Retried messages have failed again, events are dead. */
function JobOutcome({ outcome, job }) {
  const word = job.kind === 'replay' ? outcome : retriedWord(outcome)
  if (outcome === 'dead') return html`<${Badge} kind="bad">${word}<//>`
  const isOwn = outcome === 'withdrawn' || outcome === 'erased' || outcome === 'retried'
  return isOwn ? html`<${Badge} kind="dim">${word}<//>` : html`<${Outcome} outcome=${outcome} />`
}

function Later({ of }) {
  return html`<span class="dim">${of.job ? html`<a href=${link(['jobs', of.job])}>${laterWord(of)}</a>` : laterWord(of)} since</span>`
}

/** `isShort`: without the reason, which its group has. */
function Row({ of, job, isShort }) {
  const { outcome, nextAt, later } = of
  const reason = isShort ? undefined : whyOf(of)
  return html`<${Text} of=${of} job=${job} /> ${outcome && html`<${JobOutcome} outcome=${outcome} job=${job} />`}${later && html` <${Later} of=${later} />`}${reason && !later && html` <span class="dim">${reason}</span>`}${nextAt !== undefined && !later && html` <span class="dim">${nextIn(nextAt)}</span>`}`
}

/** The text of a message or event, linked to its page. */
function Text({ of: { id, queue, outcome, text, later }, job: { target } }) {
  const run = scheduledRun({ queue, id })
  if (run)
    return html`<a href=${link(['schedules', run.schedule])}>${run.schedule}</a> <span class="dim">${run.planned === undefined ? 'started by hand' : `planned ${dateTime(run.planned)}`}</span>`
  const shown = text === undefined ? html`<code>${id}</code>` : preview(text.slice(0, MAX_TEXT))
  const isPush = queue.startsWith('push/')
  const isOfMessages = target.topic === undefined || target.topic === 'gateway-message'
  const isMessage = queue === 'dispatch' || (isPush && isOfMessages)
  const isLetter = (outcome === 'dead' || outcome === 'withdrawn') && !later && !isPush
  const to = isMessage ? link(['messages', id]) : isLetter ? link(['dead-letters', id], { queue }) : undefined
  return to ? html`<a href=${to}>${shown}</a>` : shown
}

/** Why a message waits, or its last error. */
function whyOf({ outcome, error, pausedBy = [], budget }) {
  if (outcome !== 'waiting') return error
  if (pausedBy.length > 0) return pausedBy.map(({ kind, name }) => `${kind} ${name} is paused`).join(', ')
  return budget
}

function nextIn(at) {
  return `next attempt ${at > clock.value ? `in ${span(at - clock.value)}` : 'now'}`
}
