import { answerText } from '../../lib/answer-text.ts'
import { gapText } from '../../lib/gap-text.ts'
import { authorOf } from '../lib/authors.js'
import { replayEvent } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { MessageLink } from '../lib/message-link.js'
import { Age, Badge, dateTime, elapsed, fullTime, span, took } from '../lib/parts.js'
import { go, link } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'

/** The topic of messages, whose events have the ids of their messages. */
export const MESSAGES = 'gateway-message'

/**
 * A link to the message of an event, or to the page of the event, whose address continues that of
 * the group or push. A gap has no page.
 */
export function EventLink({ topic, name, id }) {
  const gap = gapText(id)
  if (gap) return html`<span class="dim" title=${id}>${gap}</span>`
  if (topic === MESSAGES) return html`<${MessageLink} id=${id} />`
  return html`<a href=${link(['queues', topic, name, id])} title=${id}>event …${id.slice(-8)}</a>`
}

/**
 * Attempts to push, newest first. Each row opens its attempt. `push`: the subscription, whose events
 * can be sent again; `most`: its maximum number of attempts. `isOfOneEvent`: rows do not name their
 * event. `chosen`: the time of the attempt that is shown. `isWhole`: there are no others.
 */
export function AttemptTable({ of, topic, name, push, most, isOfOneEvent = false, chosen, isWhole = true }) {
  const hasActions = push && !isOfOneEvent
  const pathOf = ({ event, at }) => ['queues', topic, name, event, at]
  // The attempts at one event are beside the attempt that is shown, which belongs to another list.
  const keep = () =>
    isOfOneEvent ||
    keepTrail(
      of.map((each) => ({ href: link(pathOf(each)), key: each.at })),
      isWhole,
    )
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label=${isOfOneEvent ? 'Attempts' : 'Last attempts'}><table class="attempt-table"><thead><tr><th scope="col">when</th><th scope="col">outcome</th><th scope="col" class="number">attempt</th><th scope="col" class="number">took</th>${!isOfOneEvent && html`<th scope="col">${topic === MESSAGES ? 'message' : 'event'}</th>`}${hasActions && html`<th scope="col"><span class="unseen">actions</span></th>`}</tr></thead>
    <tbody>${of.map((each) => {
      const { at, attempt, ms, event, since, job } = each
      const path = pathOf(each)
      const open = ({ target }) => target.closest('a, button') || go(path)
      return html`<tr key=${`${at} ${event} ${attempt}`} class=${at === chosen ? 'chosen' : ''} aria-current=${at === chosen ? 'true' : undefined} onClick=${open}>
        <td class="whole-words"><a data-row href=${link(path)} aria-label=${`Open the attempt of ${elapsed(Math.max(0, clock.value - at))} ago`}><${Age} at=${at} /> ago</a></td>
        <td class="what"><${Outcome} of=${each} name=${name} topic=${topic} /></td>
        <td class="number" data-label="attempt"><span>${ordinal(attempt, most)}</span>${since !== undefined && html`<span class="about">of ${job === undefined ? 'a replay' : html`<a href=${link(['jobs', job])} title=${`Replay of ${fullTime(since)}`}>a replay</a>`}</span>`}</td><td class="number" data-label="took">${took(ms)}</td>
        ${!isOfOneEvent && html`<td><${EventLink} topic=${topic} name=${name} id=${event} /></td>`}${hasActions && html`<td>${!gapText(event) && html`<${SendAgain} of=${each} attempts=${of} topic=${topic} name=${name} push=${push} />`}</td>`}</tr>`
    })}</tbody></table></div>`
}

/**
 * A button that sends the event of an attempt again. It is disabled while the push will send the event
 * anyway: the newest attempt at it in `attempts` (newest first) has failed, and another follows. None
 * follows an event that was withdrawn.
 */
function SendAgain({ of: { event }, attempts, topic, name, push }) {
  const newest = attempts.find((each) => each.event === event)
  const { reason, isDead, deliveredAt, withdrawn } = newest
  const waits = reason !== undefined && !isDead && deliveredAt === undefined && !withdrawn
  return html`<button changes type="button" class="small" disabled=${waits} title=${waits ? comesAnyway(name) : undefined} onClick=${() => replayEvent({ topic, name, id: event, push })} aria-label=${`Send again: ${event}`}>Send again …</button>`
}

/** Why an event need not be sent again. */
export function comesAnyway(name) {
  return `${name} has not got it yet, and it is sent anyway.`
}

/** `withdrawn (replay cancelled 30 Nov, 11:41:53 by ada)`. */
function withdrawnInWords({ at, by }) {
  return `withdrawn (replay cancelled ${dateTime(at)}${by === undefined ? '' : ` by ${authorOf(by)}`})`
}

/** `2 of 300`. The maximum does not include attempts that failed while the receiver was paused. */
export function ordinal(attempt, most) {
  return most === undefined || attempt > most ? attempt : `${attempt} of ${most}`
}

/**
 * When an event is tried again. One of several waits until a failing receiver accepts any of them,
 * because only one is tried at a time.
 */
export function nextInWords({ nextAt, held }) {
  if (held === 'failing') return 'waits until the receiver answers'
  return nextAt > clock.value ? `next in ${span(nextAt - clock.value)}` : 'next now'
}

/** What the receiver answered, and what follows a failed attempt. `name`: of the push. */
export function Outcome({
  of: { status, reason, answer = '', nextAt, held, isDead, withdrawn, ...each },
  name,
  topic,
}) {
  const { event, deliveredAt } = each
  const said = reason === undefined ? 'accepted' : (status && answerText(answer)) || reason
  return html`<${Badge} kind=${reason ? 'bad' : 'good'}>${status ?? (reason ? 'failed' : 'ok')}<//> <span class=${reason ? 'error' : 'dim'}>${said}</span>${nextAt !== undefined && html`<span class="dim">, ${nextInWords({ nextAt, held })}</span>`}${isDead && html`<span class="dim">, <a href=${link('dead-letters', { queue: `push/${name}` })}>now a dead letter</a></span>`}${deliveredAt !== undefined ? html`<span class="dim">, </span><a class="good-text" href=${link(['queues', topic, name, event, deliveredAt])} title=${fullTime(deliveredAt)}>delivered since, ${dateTime(deliveredAt)}</a>` : withdrawn && html`<span class="dim">, ${withdrawnInWords(withdrawn)}</span>`}`
}
