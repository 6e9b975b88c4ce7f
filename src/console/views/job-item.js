import { laterWord, sinceWord } from '../../lib/later-word.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { scheduledRun } from '../../lib/scheduled-run.ts'
import { whatHolds } from '../../lib/what-holds.ts'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { nextIn } from '../lib/job-words.js'
import { Badge, dateTime, Moment, Outcome, preview } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** Maximum characters of a message in a row. */
const MAX_TEXT = 160

/** A message or event of a job, with its outcome. */
export function ItemRow({ of: item, job }) {
  const { id, queue, at, outcome, nextAt, later, deliveredAt, endedAt = deliveredAt } = item
  const isHeld = (outcome === 'waiting' || outcome === 'retrying') && whatHolds(item) !== undefined
  const reason = whyOf(item)
  const isNamed = at !== undefined
  return html`<span class="item-what"><${ItemText} of=${item} job=${job} /> <span class="dim">${isNamed && html`<${Moment} at=${at} /> `}${!scheduledRun({ queue, id }) && html`<code title=${id}>…${endOfId(id)}</code>`}</span></span>
    <span class="item-state">${outcome && html`<${ItemOutcome} outcome=${outcome} job=${job} />`}${endedAt !== undefined && html` <span class="dim"><${Moment} at=${endedAt} /></span>`}${later && html` <${Later} of=${later} />`}${nextAt !== undefined && !later && !isHeld && html` <span class="dim">${nextIn(nextAt)}</span>`}${reason && !later && html` <span class=${outcome === 'dropped' || outcome === 'waiting' || isHeld ? 'dim' : 'error'}>${outcome === 'dropped' ? reason : causeOf(reason)}</span>`}</span>`
}

/** The end of the UUID in an id, as lists show it. */
function endOfId(id) {
  const [uuid = id] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(id) ?? []
  return uuid.slice(-8)
}

/** The outcome of a message or event. Retried messages have failed again, events are dead. */
export function ItemOutcome({ outcome, job }) {
  const word = job.kind === 'replay' ? outcome : retriedWord(outcome)
  const kind = KINDS[outcome]
  return kind ? html`<${Badge} kind=${kind}>${word}<//>` : html`<${Outcome} outcome=${outcome} />`
}

const KINDS = {
  dead: 'bad',
  withdrawn: 'dim',
  erased: 'dim',
  retried: 'dim',
  interrupted: 'dim',
  delivered: 'good',
  read: 'good',
}

/** What was done since, linked to the job that did it. */
export function Later({ of }) {
  const text = sinceWord({ word: laterWord(of), job: of.job })
  return html`<span class="dim">${of.job ? html`<a href=${link(['jobs', of.job])}>${text}</a>` : text}</span>`
}

/** The text of a message or event, linked to its page. */
export function ItemText({ of: item, job }) {
  const { id, queue, text } = item
  const run = scheduledRun({ queue, id })
  const to = hrefOf(item, job)
  if (run)
    return html`<a href=${to}>${run.schedule}</a> <span class="dim">${run.planned === undefined ? 'started by hand' : `planned ${dateTime(run.planned)}`}</span>`
  const shown = text === undefined ? html`<code>${id}</code>` : preview(text.slice(0, MAX_TEXT))
  return to === undefined ? shown : html`<a href=${to}>${shown}</a>`
}

/** The page of a message or event; undefined if it has none. */
export function hrefOf({ id, queue, outcome, later }, { target }) {
  const run = scheduledRun({ queue, id })
  if (run) return link(['schedules', run.schedule])
  const isPush = queue.startsWith('push/')
  const isReplay = target.topic !== undefined
  const isOfMessages = target.topic === undefined || target.topic === 'gateway-message'
  const isMessage = queue === 'dispatch' || ((isPush || isReplay) && isOfMessages)
  if (isMessage) return link(['messages', id])
  if (isReplay) return link(['queues', target.topic, target.group, id])
  const isLetter = (outcome === 'dead' || outcome === 'withdrawn') && !later
  return isLetter ? link(['dead-letters', id], { queue }) : undefined
}

/** Why a message waits, or its last error. */
export function whyOf(item) {
  const isOpen = item.outcome === 'waiting' || item.outcome === 'retrying'
  return (isOpen && whatHolds(item)) || item.error
}
