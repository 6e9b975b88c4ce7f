import { budgetFreeText, budgetWaitOf } from '../../lib/budget-wait.ts'
import { lastAttemptAfter, RETRIED_EARLY, TEST_LASTS } from '../../lib/last-attempt.ts'
import { withoutUndone } from '../../lib/undone-retries.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { clockOf } from '../lib/clock-of.js'
import { stillToGet } from '../lib/event-delivery.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, dateTime, span, useLoaded, Words } from '../lib/parts.js'
import { PauseList, PauseNames } from '../lib/pauses.js'
import { isAnswerNote, lastReplyNote, letterOfNote, undeliveredNote } from '../lib/reply-notes.js'
import { link } from '../lib/router.js'
import { withLocalTimes } from '../lib/troubles.js'
import { usedUpOf } from '../lib/used-up.js'
import { FailedAttempts, ToCause } from './dead-message.js'
import { Fate, RefusalSent } from './message-answer.js'

/** What became of a message for its sender, or what happens to it next and why, in a line below its title. */
export function MessageState({ shown }) {
  const { message, outcome, history, running, pausedBy = [] } = shown
  const budget = budgetWaitOf(usedUpOf(shown.skill), history, clock.value)
  const lastOf = (road, ...what) => history.findLast((note) => note.road === road && what.includes(note.what))
  const failed = withoutUndone(history).findLast(
    ({ road, what }) => road === 'dispatch' && (what === 'failed' || what === 'dead'),
  )
  const unsent = lastOf('outbox', 'send failed', 'bounced', 'not sent', 'suppressed', 'dead', 'not delivered')
  switch (outcome) {
    case 'waiting':
      return html`<${WaitReason} pausedBy=${pausedBy} budget=${budget} refused=${lastOf('dispatch', 'waits for its budget')} />`
    case 'running':
      return html`<${Line} kind="busy"><${RunningAttempt} of=${running} /><//>`
    case 'retrying':
      return html`<${Line} kind="warn"><${Retrying} message=${message} failed=${failed} isHastened=${isHastened(history, failed)} /> <${AlsoPaused} pausedBy=${pausedBy} budget=${budget} /><//>`
    case 'approval':
      return html`<${Line} kind="warn">It waits for <a href=${link('approvals')}>a decision</a>. <${AlsoPaused} pausedBy=${pausedBy} budget=${budget} after="Once approved, it" /><//>`
    case 'replying':
      return html`<${Line} kind="warn">It was handled, but the reply could not be sent${whyOf(unsent)} <${NextAttempt} of=${unsent} /><//>`
    case 'dead':
      if (isCancelled(failed))
        return html`<${Line} kind="bad">${isGivenUp(failed) ? 'It' : `Attempt ${failed.detail.attempt}`} was ${cancelledBy(failed)}. Nothing happens until somebody retries or drops it. <${ToCause} id=${message.id} /><//>`
      return html`<${Line} kind="bad">It failed permanently<${FailedAttempts} history=${history} />${whyOf(failed)} Nothing happens until somebody retries or drops it. <${ToCause} id=${message.id} /><//>`
    case 'dropped':
      if (!failed) return null
      if (isCancelled(failed))
        return html`<${Line}>${isGivenUp(failed) ? 'It' : `Attempt ${failed.detail.attempt}`} was ${cancelledBy(failed)}. ${afterDrop(shown)}<//>`
      return html`<${Line}>It failed permanently<${FailedAttempts} history=${history} />${whyOf(failed)} Its dead letter was dropped.<//>`
    case 'bounced':
      return html`<${Line} kind="bad">It was handled, but the reply came back${whyOf(unsent)}<//>`
    case 'suppressed':
      return html`<${Line} kind="warn">It was handled, but its reply was not sent${whyOf(unsent)}<//>`
    case 'undelivered':
      return html`<${Unsent} note=${undeliveredNote(history)} history=${history} />`
    case 'done':
      if (lacksApproval(history))
        return html`<${NotApproved} note=${lastOf('dispatch', 'denied', 'expired')} shown=${shown} />`
      return html`<${Unsent} note=${lastReplyNote(history.filter(isAnswerNote))} history=${history} otherwise=${html`<${Fate} shown=${shown} />`} />`
    case 'unrouted':
      return html`<${Line}>No route matches it, so no skill ran. Receive and events have it.<//>`
    default:
      return null
  }
}

/** What happens to a dropped message: no skill runs, but its event is still delivered. */
function afterDrop({ events }) {
  const receivers = stillToGet(events)
  return receivers ? `It is not tried again. Its event still goes to ${receivers}.` : 'Nothing more happens.'
}

/** The reply to a handled message, or a mail to its sender, that did not arrive. */
function Unsent({ note, history, otherwise = null }) {
  if (note?.what === 'not sent')
    return html`<${Line} kind="warn">It was handled, but its reply was not sent${whyOf(note)}<//>`
  if (note?.what !== 'dead' && note?.what !== 'not delivered') return otherwise
  const { letter, to } = note.detail
  const sent = letter ? `a mail to ${to} was not delivered` : 'its reply was not delivered'
  const { id, droppedBy } = letterOfNote(note, history)
  const next =
    droppedBy === undefined
      ? html`<a href=${link(['dead-letters', id], { queue: 'outbox' })}>See the dead letter</a>`
      : `${authorOf(droppedBy)} dropped its dead letter.`
  return html`<${Line} kind="bad">It was handled, but ${sent}${whyOf(note)} ${next}<//>`
}

/** Whether the last request for approval was denied or expired, so that the skill did not run. */
function lacksApproval(history) {
  const last = history.findLast(({ what, detail }) => detail?.approval && what !== 'waits for an approval')
  return last?.what === 'denied' || last?.what === 'expired'
}

function NotApproved({ note: { what, detail, at }, shown }) {
  const { by, reason, approval } = detail
  const how =
    what === 'expired'
      ? 'nobody decided in time'
      : `denied${by ? ` by ${authorOf(by)}` : ''}${reason ? `: ${reason}` : ''}`
  return html`<${Line} kind="warn"><a href=${link('approvals', { id: approval })}>Not approved</a>: ${how.replace(/[.\s]+$/, '')}. The call did not run. <${RefusalSent} shown=${shown} since=${at} /><//>`
}

/** The running attempt, unless another daemon has it. */
function RunningAttempt({ of }) {
  if (!of) return 'An attempt is running on another daemon. Its end is shown here.'
  const { attempt, route, skill, since, timeoutAt } = of
  return html`Attempt ${attempt} of route <b>${route}</b>${skill && html` runs <a href=${link(['skills', skill])}>${skill}</a>`} for <${Age} at=${since} />.${timeoutAt !== undefined && html` The timeout of the route ends it at ${dateTime(timeoutAt)}, in ${span(Math.max(0, timeoutAt - clock.value))}.`}`
}

/** Whether a person ended the attempt of a note. */
export function isCancelled(note) {
  return note?.detail?.code === 'run_cancelled'
}

/** Whether a person gave up the message of a note, so that its attempt did not run. */
export function isGivenUp({ detail }) {
  return isCancelled({ detail }) && detail.error.startsWith('Given up')
}

/** `cancelled by ada: wrong customer`, from `run_cancelled`, without the default reason. */
export function cancelledBy({ detail }) {
  const [, by = 'somebody'] =
    /(?:cancelled|given up) by (.*?)(?: \(message [\w-]+\))?\.?$/i.exec(detail.error) ?? []
  return `${isGivenUp({ detail }) ? 'given up' : 'cancelled'} by ${by.replace(/: an operator cancelled it$/, '').replace(/^(?:(?:oidc|control-token|token):(?=\S))?[^:]*(?=:|$)/, authorOf)}`
}

function Line({ kind = '', children }) {
  return html`<p class=${`now-it ${kind}`}>${children}</p>`
}

function attemptOf(note) {
  return note?.detail?.attempt ? `Attempt ${note.detail.attempt}` : 'An attempt'
}

function whyOf(note) {
  const why = note?.detail?.error ?? note?.detail?.reason
  return why ? html`: <${Words} text=${withLocalTimes(causeOf(why)).replace(/[.\s]+$/, '')} />.` : '.'
}

/** Whether somebody has ended the back-off since an attempt failed. */
function isHastened(history, failed) {
  return history.some(({ what, at }) => what === RETRIED_EARLY && at >= failed?.at)
}

/** The failed attempt, when the next one begins, and when the last one does. */
function Retrying({ message, failed, isHastened }) {
  const { route, attempt, delay } = failed?.detail ?? {}
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const retry = routes.find(({ name }) => name === route)?.retry ?? {}
  const next = { at: failed?.at + delay, attempt: attempt + 1 }
  const limit = message.data?.replyTarget?.test ? message.receivedAt + TEST_LASTS : undefined
  const last = delay === undefined ? {} : lastAttemptAfter(next, retry, limit)
  const begins = isHastened ? 'The next attempt begins now.' : html`<${NextAttempt} of=${failed} />`
  const number = last.of === undefined ? '' : ` of ${last.endsAt ? 'up to ' : ''}${last.of}`
  return html`${attemptOf(failed)}${number} failed${whyOf(failed)} ${begins} ${endOf(last, next, isHastened)}`
}

/** When the attempts of a message end: by the limit of a test, or by those of its route. */
function endOf({ of, givesUpAt, endsAt }, next, isHastened) {
  if (endsAt)
    return `This test ends at ${clockOf(endsAt, { second: '2-digit' })}: no attempt begins after that, and the message becomes a dead letter.`
  if (of === next.attempt) return 'It is the last one.'
  if (!(of > next.attempt) || isHastened) return ''
  return `It gives up after attempt ${of}, about ${dateTime(givesUpAt).replace(/:\d\d$/, '')}.`
}

/** When the next attempt begins. */
function NextAttempt({ of: note }) {
  const { delay } = note?.detail ?? {}
  if (delay === undefined) return null
  const left = note.at + delay - clock.value
  return left > 0 ? html`The next attempt begins in <b>${span(left)}</b>.` : 'The next attempt begins now.'
}

/** When the budget is checked again, in case it was raised. */
function NextCheck({ of: { at, detail } }) {
  const left = at + (detail?.delay ?? 0) - clock.value
  return (
    left > 0 && html`<span class="dim">In case it is raised, it is checked again in ${span(left)}.</span>`
  )
}

/**
 * Why a message waits: its pauses, if any, and the used-up budget. `refused`: the note of a run
 * that the budget did not allow.
 */
function WaitReason({ pausedBy, budget, refused }) {
  if (pausedBy.length > 0)
    return html`<div class="now-it warn">It runs <${WhenFree} pausedBy=${pausedBy} budget=${budget} />. <${PausesLink} pauses=${pausedBy} /><${PauseList} of=${pausedBy} /></div>`
  if (refused) return html`<${Line} kind="warn">It waits${whyOf(refused)} <${NextCheck} of=${refused} /><//>`
  return html`<${Line} kind="busy">It waits for dispatch, after earlier messages of its conversation.<//>`
}

/** The pauses and the budget that will hold the message after its current wait. */
function AlsoPaused({ pausedBy, budget, after = 'It' }) {
  if (pausedBy.length === 0) return null
  return html`${after} runs <${WhenFree} pausedBy=${pausedBy} budget=${budget} />. <${PausesLink} pauses=${pausedBy} />`
}

/** All that holds a message: `when skill sum is resumed, and its budget is free again at 22:00`. */
function WhenFree({ pausedBy, budget }) {
  return html`when <${PauseNames} of=${pausedBy} /> ${pausedBy.length === 1 ? 'is' : 'are'} resumed${budget && `, and ${budgetFreeText(budget, clockOf)}`}`
}

function PausesLink({ pauses }) {
  return html`<a href=${link('paused')}>${pauses.length === 1 ? 'See the pause' : 'See the pauses'}</a>`
}
