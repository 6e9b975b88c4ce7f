import { useState } from 'preact/hooks'
import { answerText } from '../../lib/answer-text.ts'
import { bodyText } from '../../lib/body-text.ts'
import { defined } from '../../lib/defined.ts'
import { RETRIED_EARLY } from '../../lib/last-attempt.ts'
import { RETRIED } from '../../lib/undone-retries.ts'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { deliveryOf } from '../lib/event-delivery.js'
import { html } from '../lib/html.js'
import { money } from '../lib/money.js'
import { Age, dateTime, Facts, fullTime, span, timeOfDay, took, Words } from '../lib/parts.js'
import { isAnswerNote } from '../lib/reply-notes.js'
import { link } from '../lib/router.js'
import { recipientOf } from './message-answer.js'
import { Decided, SentRequest, useApprovals, WaitsForApproval } from './message-approval.js'
import { cancelledBy, isCancelled, isGivenUp } from './message-state.js'

/** The names of roads, where they differ. */
const ROADS = { outbox: 'out' }
/** The roads whose titles say what happened without their names. */
const SELF_EVIDENT = new Set(['accept', 'dispatch'])
const KINDS = {
  done: 'good',
  sent: 'good',
  failed: 'bad',
  dead: 'bad',
  'send failed': 'bad',
  'not sent': 'bad',
  'not delivered': 'bad',
  bounced: 'bad',
  approved: 'good',
  denied: 'bad',
  expired: 'bad',
}

/** The history on the three roads on one time axis, with durations. */
export function Timeline({ shown }) {
  const { history, pushes = [], receive, events = [], running } = shown
  const start = history[0]?.at ?? shown.message.receivedAt
  const pushed = pushes.map(({ at, subscription, ms, status, reason, answer = '', attempt }) => {
    const error = reason && [reason, answerText(answer)].filter(Boolean).join(': ')
    return {
      at,
      road: 'push',
      what: reason ? 'failed' : 'sent',
      detail: { to: subscription, attempt, ms, status, error },
    }
  })
  const sorted = [...history, ...pushed].map(withCancel).toSorted((a, b) => a.at - b.at)
  const notes = withoutRepeats(sorted, shown.outcome)
  const retried = new Set(afterRetry(notes))
  const approvals = useApprovals(history)
  const offsets = offsetsIn(notes, start)
  const sent = new Set(history.map(({ detail }) => detail?.text))
  const entryOf = (note, index = notes.indexOf(note)) => {
    const { at, road, what, detail = {} } = note
    return html`<li key=${index} class=${`${road} ${kindOf(what, detail)}`}>
      <div class="when"><time datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${timeOfDay(at)}${index > 0 && offsets[index] !== offsets[index - 1] && html` <span class="dim">+${offsets[index]}</span>`}</time></div>
      <div class="what">${SELF_EVIDENT.has(road) || isAnswerSent(notes[index]) ? null : html`<span class="road">${ROADS[road] ?? road}</span> `}<b>${titleOf(notes[index], shown.message, retried.has(notes[index]))}</b> <${detailOf(what, detail)} detail=${detail} at=${at} road=${road} what=${what} approval=${approvals[detail.approval]} sent=${sent} pausedBy=${shown.pausedBy} /></div>
    </li>`
  }
  return html`<ol class="timeline">
    ${repeatsTogether(notes).map(([note, ...repeats]) => (repeats.length === 0 ? entryOf(note) : html`<${Repeats} key=${notes.indexOf(note)} of=${[note, ...repeats]} entryOf=${entryOf} />`))}
    ${running && html`<${Running} of=${running} start=${start} />`}
  </ol>
  <${Facts} of=${{
    // In most projects, no program pulls messages.
    'receive road': receive?.unused
      ? undefined
      : `${receive?.state ?? ''}${receive?.by ? ` by ${receive.by}` : ''}`,
    'events road':
      events.length > 0
        ? events.map((each) => `${each.group}: ${deliveryOf(each).text}`).join(' · ')
        : 'no consumer group',
  }} />`
}

/** The time from the first entry to each; after a retry, from the retry. */
function offsetsIn(notes, start) {
  let base = start
  return notes.map(({ at, what }) => {
    const offset = took(at - base)
    if (what === RETRIED || what === RETRIED_EARLY) base = at
    return offset
  })
}

/** Puts attempts that failed like the one before them in one part of the list. */
function repeatsTogether(notes) {
  const parts = []
  for (const note of notes) {
    const isRepeat = note.isRepeat && note.road === 'dispatch' && note.what === 'failed'
    if (isRepeat && parts.at(-1)?.[0].isRepeat && parts.at(-1)[0].what === 'failed') parts.at(-1).push(note)
    else parts.push([note])
  }
  return parts
}

/** Several attempts that failed with the same error, folded. */
function Repeats({ of, entryOf }) {
  const [isOpen, setOpen] = useState(false)
  const [first, last] = [of[0], of.at(-1)]
  return html`<li class="dispatch bad"><div class="when"><time title=${fullTime(first.at)}>${timeOfDay(first.at)}</time></div>
    <div class="what"><details onToggle=${(event) => setOpen(event.target.open)}><summary><b>attempts ${first.detail.attempt} to ${last.detail.attempt} failed</b> <span class="fields">until ${timeOfDay(last.at)}: the same error</span></summary>${isOpen && html`<ol class="timeline">${of.map((note) => entryOf(note))}</ol>`}</details></div></li>`
}

/** Unsent requests for approval are not marked as bad: they are still among the approvals. */
function kindOf(what, { key = '' }) {
  return key.startsWith('approval:') && what === 'not sent' ? '' : (KINDS[what] ?? '')
}

/** From this duration (ms) on, the start of an attempt is another time than its end. */
const SECOND = 1_000

const DECIDED = new Set(['approved', 'denied', 'expired'])

/** The attempts since the last retry, which starts their numbers at 1 again. */
function afterRetry(notes) {
  const retry = notes.findLastIndex(({ road, what }) => road === 'dispatch' && what === RETRIED)
  return retry < 0 ? [] : notes.slice(retry)
}

/** What happened, in a few words. `isRetried`: after a retry. */
function titleOf(note, message, isRetried) {
  const { road, what, detail = {} } = note
  const { key = '', pause, attempt } = detail
  if (pause) return `held by the pause of ${pause}`
  if (what === RETRIED_EARLY) return 'retried now'
  if (what === 'not delivered') return 'mail to the sender not delivered'
  if (key.startsWith('approval:'))
    return what === 'sent'
      ? `request for approval sent to ${recipientOf({ detail }, message)}`
      : `request for approval ${what}`
  if (isAnswerSent(note)) return `answer sent to ${recipientOf({ detail }, message)}`
  if (road === 'push') return what === 'sent' ? `sent to ${detail.to}` : `not sent to ${detail.to}`
  if (road !== 'dispatch' || attempt === undefined || !ENDS.has(what)) return what
  return `attempt ${attempt}${isRetried ? ' after the retry' : ''} ${what === 'dead' ? 'failed permanently' : what}`
}

/** Ends of an attempt. */
const ENDS = new Set(['done', 'failed', 'dead'])

function isAnswerSent(note) {
  return note.what === 'sent' && isAnswerNote(note)
}

/** How the details of an entry are shown. */
function detailOf(what, { approval, pause, key = '' }) {
  if (pause) return HeldBy
  if (key.startsWith('approval:')) return SentRequest
  if (approval === undefined) return Detail
  return DECIDED.has(what) ? Decided : WaitsForApproval
}

/** A time in which a pause held the message. */
function HeldBy({ detail: { pause, by, reason, ms, resumedBy }, at, pausedBy = [] }) {
  const until = pausedBy.find(({ kind, name }) => `${kind} ${name}` === pause)?.until
  const end = until === undefined ? 'it is resumed' : dateTime(until)
  return html`<span class="fields">by ${authorOf(by)}${reason && `: ${reason}`}</span>
    <p class="dim">${ms === undefined ? html`For <${Age} at=${at} />, until ${end}.` : `For ${span(ms) === '0 s' ? took(ms) : span(ms)}${resumedBy ? `, until ${authorOf(resumedBy)} resumed it` : ''}.`}</p>`
}

/** An attempt that has not ended, with its time so far. */
function Running({ of: { since, route, skill, attempt }, start }) {
  return html`<li class="dispatch busy">
    <div class="when"><time title=${fullTime(since)}>+${took(since - start)}</time></div>
    <div class="what"><b>attempt ${attempt} is running</b> <span class="took">for <${Age} at=${since} /></span> <span class="fields">${fieldsOf({ route, ...(skill && { skill }) })}</span></div>
  </li>`
}

/** Shortens repeated errors. Removes the reason that `MessageState` shows above. */
function withoutRepeats(notes, outcome) {
  const unsent = /^(done|suppressed)$/.test(outcome) && notes.findLast(({ what }) => UNSENT.test(what))
  let before
  return notes.map((note) => {
    if (note === unsent) return { ...note, detail: { ...note.detail, reason: undefined } }
    const { error, code, ...detail } = note.detail ?? {}
    if (!error) return note
    const isSame = before === error
    before = error
    return isSame ? { ...note, isRepeat: true, detail: { ...detail, error: 'the same error' } } : note
  })
}

/** Notes of replies that were not sent. */
const UNSENT = /^(suppressed|not sent)$/
/** An attempt that a person ended is shown as cancelled, not as failed. */
function withCancel(note) {
  if (!isCancelled(note)) return note
  const { error, code, ...detail } = note.detail
  const { attempt, ms, ...ofMessage } = detail
  return { ...note, what: cancelledBy(note), detail: isGivenUp(note) ? ofMessage : detail }
}

function Detail({ detail, at, road, what }) {
  // The key repeats the message id and the route name. The page shows the text of answers above.
  const {
    text,
    error,
    reason,
    tools,
    ms,
    skillMs,
    args,
    key,
    delay,
    by,
    letter,
    returned,
    budget: _,
    ...others
  } = detail
  const { id, data, ...plain } = withoutTitle(others, { road, what })
  const isAnswer = isAnswerNote({ road, detail })
  const fields = isAnswer ? plain : defined({ ...plain, id, data })
  const said = { ...fields, ...(by && { by: authorOf(by) }) }
  return html`${ms !== undefined && html`<span class="took">${took(ms)}${road === 'dispatch' && ms >= SECOND && `, began ${timeOfDay(at - ms)}`}</span>${skillMs !== undefined && html` <span class="fields" title=${ATTEMPT_TIME}>(the skill ${took(skillMs)})</span>`} `}<span class="fields">${fieldsOf(said)}</span>${' '}
    ${(error || reason) && html`<p class="error"><${Words} text=${causeOf(error ?? reason)} /></p>`}
    ${letter && html`<p><a href=${link(['dead-letters', letter], { queue: 'outbox' })}>See the dead letter</a></p>`}
    ${delay !== undefined && html`<p class="dim">${what === 'waits for its budget' ? 'The budget is checked again' : 'Next attempt'} at ${timeOfDay(at + delay)}, after ${took(delay)}.</p>`}
    ${
      tools?.length > 0 &&
      html`<ul class="tools">${tools.map(
        (
          tool,
          at,
        ) => html`<li key=${at}><code>${tool.tool}</code> ${tool.ms !== undefined && html`<span class="took">${took(tool.ms)}</span>`}
      ${tool.error ? html`<span class="error">${tool.error}</span>` : html`<span class="fields">${tool.args}</span>`}
      ${tool.answer && html`<span class="fields">→ ${tool.answer}</span>`}</li>`,
      )}</ul>`
    }
    ${isAnswer && (id || data) && html`<details><summary>Receipt</summary><span class="fields">${fieldsOf(defined({ id, data }))}</span></details>`}
    ${text && !isAnswer && html`<pre class="reply" tabindex="0" aria-label="Reply">${text}</pre>`}
    ${returned && html`<${Returned} of=${returned} />`}`
}

/** The details of an entry that neither its title nor the head of the page has. */
function withoutTitle(detail, { road, what }) {
  const { to, attempt, gateway, transport, from, ...others } = detail
  if (road === 'accept') return others
  const place = defined({ gateway, transport, from })
  if (road === 'push') return { attempt, ...others, ...place }
  const isNamed = road === 'dispatch' && ENDS.has(what)
  const isTo = road === 'outbox' && what === 'sent'
  return { ...others, ...place, ...(!isTo && defined({ to })), ...(!isNamed && defined({ attempt })) }
}

const ATTEMPT_TIME =
  'An attempt also reads the message, and stores the outcome. The lists of the skill have the time of the skill alone.'

/** At first, a result of more than `from` characters is cut to `shown`. */
const LONG = { from: 1_200, shown: 900 }
/** A result that the history has only in part ends with this. */
const CUT = '…'

/** What a target returned, if that was not sent: a text, or indented JSON. */
function Returned({ of }) {
  const [isWhole, setWhole] = useState(false)
  const text = bodyText(of)
  const isShort = isWhole || text.length <= LONG.from
  return html`<p class="dim">Returned, and not sent:</p>
    <pre class="reply" tabindex="0" aria-label="What it returned">${isShort ? text : `${text.slice(0, LONG.shown)} ${CUT}`}</pre>
    ${!isShort && html`<p><button type="button" class="linkish" onClick=${() => setWhole(true)}>Show all ${text.length.toLocaleString('en')} characters</button></p>`}
    ${isShort && of.endsWith(CUT) && html`<p class="dim">Only this much of it is kept.</p>`}`
}

function fieldsOf({ inputTokens, outputTokens, money: paid, currency, ...fields }) {
  const used = inputTokens === undefined ? {} : { tokens: `${inputTokens} in, ${outputTokens ?? 0} out` }
  const cost = paid === undefined ? {} : { cost: money(paid, currency) }
  return Object.entries({ ...fields, ...used, ...cost })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
}

/** Log lines of this daemon about the message. Errors that the history has are not repeated. */
export function Log({ lines, history }) {
  if (lines.length === 0) return null
  const shown = history.flatMap(({ detail }) => detail?.error ?? [])
  const isShown = (error) => shown.some((each) => error.startsWith(each))
  return html`<h2>Log</h2>
    <ol class="log">${lines.map(
      ({ at, level, message, error, stack, ...fields }, index) => html`<li key=${index} class=${level}>
      <time datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${timeOfDay(at)}</time> <b>${level}</b> ${message} <span class="fields">${fieldsOf({ ...fields, ...(fields.delay !== undefined && { delay: took(fields.delay) }) })}</span>
      ${error && !isShown(error) && html`<p class="error">${error}</p>`}
      ${stack && html`<details><summary>Stack</summary><pre tabindex="0" aria-label="Stack">${stack}</pre></details>`}
    </li>`,
    )}</ol>`
}
