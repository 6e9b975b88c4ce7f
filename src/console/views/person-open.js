import { invoke } from '../lib/api.js'
import { DecideIt, usePending } from '../lib/approval.js'
import { useAttempt } from '../lib/attempts.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { Held, isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { changes, clock } from '../lib/live.js'
import { kindOf } from '../lib/open-by-person.js'
import { Age, Badge, Moment, Outcome, span, useLoaded, Wait } from '../lib/parts.js'
import { retryMessage } from '../lib/retry-message.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { MESSAGE_TOPIC, On, placeOfThing, ThingTitle } from './open-thing.js'
import { AlsoOpen, hasAlsoOpen, hasOfOthers, OfOthers } from './person-also-open.js'
import { AnswerHere } from './person-answer.js'

/** Maximum number of shown things. */
const MAX_SHOWN = 50

/**
 * What is open with a person, as in the list of people: conversations that wait or that somebody has
 * taken over, approvals, messages that wait, are tried again or failed, and what is not delivered.
 * `turn` changes when it is to be read again, as that of `arrivals` does; see `useArrivals`.
 */
export function useOpen(who, turn, arrivals) {
  return useLoaded(
    arrivals.paced(async (signal) => {
      const { people, older } = await invoke('person-open', { identity: who }, signal)
      return { all: people.flatMap(({ open }) => open), older }
    }),
    [who.join('\n'), turn, arrivals.turn, changes.approvals.value, changes.dead.value],
  )
}

/**
 * `of`: see `useOpen`. `counted`: the count of the person, with what else is open. `pushes`: what is still
 * to be sent of their messages, as `person-show` has it. `changed` is called after a decision or an answer.
 */
export function OpenThings({ of: loaded, counted, pushes = [], changed }) {
  const isAsked = loaded.value?.all.some(({ kind }) => kind === 'approval') ?? false
  const { pending } = usePending(isAsked)
  if (!loaded.value) return html`<h2>Open</h2><${Wait} of=${loaded} what="what is open" />`
  const { all, older } = loaded.value
  const others = all.length - MAX_SHOWN
  return html`<h2>Open</h2>
    ${all.length > 0 ? html`<ul class="plain open-things" aria-label="Open">${all.slice(0, MAX_SHOWN).map((thing) => html`<${Thing} key=${`${thing.kind} ${thing.id}`} of=${thing} pending=${pending} changed=${changed} />`)}</ul>` : hasAlsoOpen(counted) || hasOfOthers(counted) ? null : html`<p class="dim">Nothing is open: nobody waits for an answer or an approval, and no message waits or has failed${older && ', among the newest messages'}.</p>`}
    ${others > 0 && html`<p class="dim">And ${others.toLocaleString('en')} more.</p>`}
    ${all.length > 0 && older && html`<p class="dim">Only the newest messages were searched: older ones may be open, too.</p>`}
    <${AlsoOpen} of=${counted} /><${OfOthers} of=${counted?.mentions} />
    ${pushes.map((push) => html`<${Waiting} key=${push.name} of=${push} />`)}`
}

/**
 * The messages that a push has not delivered yet, and those that a replay sends again. No person needs
 * to act on them.
 */
function Waiting({ of: { name, count: all, replayed = 0, since, more } }) {
  const least = more && 'At least '
  const to = html`to <a href=${link(['queues', MESSAGE_TOPIC, name])}>${name}</a>`
  const fresh = all - replayed
  return html`${fresh > 0 && html`<p class="dim">${least}${count(fresh, 'message')} not delivered ${to} yet, for <${Age} at=${since} /></p>`}${replayed > 0 && html`<p class="dim">${least}${count(replayed, 'message')} sent again ${to} by a replay</p>`}`
}

function Thing({ of, pending, changed }) {
  const Shown = KINDS[of.kind] ?? Letter
  // Those of a conversation come before its field for an answer.
  return html`<li><${Shown} of=${of} pending=${pending} changed=${changed} />${of.kind !== 'conversation' && html`<${Notes} of=${of} />`}</li>`
}

/** What colleagues noted in the conversation of an open thing. */
function Notes({ of: { notes = [] } }) {
  if (notes.length === 0) return null
  return html`<ul class="plain thing-notes" aria-label="Notes">${notes.map(({ id, at, by, text }) => html`<li key=${id}><b>Note</b> of ${authorOf(by) ?? 'somebody'}, <${Age} at=${at} /> ago: <span class="said-reason">${text}</span></li>`)}</ul>`
}

/** The title of an open thing as a link to its page, and its gateway. */
function Head({ of }) {
  const place = placeOfThing(of)
  const title = html`<${ThingTitle} of=${of} />`
  return html`${place ? html`<a data-row href=${place}>${title}</a>` : title} <${On} gateway=${of.gateway} />`
}

function Approval({ of, pending, changed }) {
  const request = pending.find(({ id }) => id === of.id)
  return html`<${Head} of=${of} /> <${Badge} kind="warn">needs an approval <${Age} at=${of.at} /><//> ${request && html`<${DecideIt} request=${request} done=${changed} />`}`
}

/** Who took over a conversation and why, and how long the person has been waiting. */
function Conversation({ of, changed }) {
  const { waitingSince, heldBy, outcome, undelivered, newest } = of
  return html`<${Head} of=${of} />
    ${newest?.failed && html` <${Badge} kind="bad">failed<//>`}
    ${waitingSince !== undefined && html` <${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`}
    ${undelivered && html` <${Badge} kind="bad">not delivered<//>${undelivered.error && html` <span class="error">${causeOf(undelivered.error)}</span>`}`}
    ${newest && html` <${Attempt} of=${of} error=${newest.error} />`}
    ${isHeld(outcome, of) && html` <${Held} />`}
    ${heldBy ? html` <span><b>${authorOf(heldBy.by) ?? 'Somebody'}</b> has taken over, <${Age} at=${heldBy.since} /> ago${heldBy.reason && html`: <span class="said-reason">${heldBy.reason}</span>`}</span>` : waitingSince !== undefined && html` <span class="dim">nobody has taken over</span>`}<${Notes} of=${of} /> ${waitingSince !== undefined && html`<${AnswerHere} of=${of} done=${changed} />`}`
}

/** A message that waits, is tried again or failed, since when, and why. */
function Message({ of, changed }) {
  return html`<${Head} of=${of} /> ${of.failed ? html`<${Badge} kind="bad">failed<//>` : html`<${Outcome} outcome=${of.outcome} />`} <span class="dim">${of.failed ? html`<${Age} at=${of.at} /> ago` : html`for <${Age} at=${of.at} />`}</span> <${Attempt} of=${of} error=${of.error} />${of.failed && html` <button changes type="button" class="small" onClick=${() => retryMessage(of, changed)}>Retry …</button>`}`
}

/** The last attempt at a message, and what it waits for. `error`: that of its dead letter. */
function Attempt({ of, error: last }) {
  const { outcome } = of
  const { error = last, nextAt, pausedBy = [], budget } = useAttempt(of) ?? {}
  const paused = pausedBy.map(({ kind, name }) =>
    kind === 'conversation' ? 'taken over' : `${kind} ${name}`,
  )
  return html`${error && html`<span class="error">${causeOf(error)}</span>`}
    ${outcome === 'retrying' && nextAt > clock.value && html` <span class="dim">again in ${span(nextAt - clock.value)}</span>`}
    ${paused.length > 0 && html` <span class="dim">paused: ${paused.join(', ')}</span>`}
    ${budget && html` <span class="dim">${budget}</span>`}`
}

/** A reply or a push that failed. */
function Letter({ of }) {
  const { queue, gateway, state, at, error } = of
  return html`<${Head} of=${{ ...of, gateway: gateway ?? queue }} /> <${Badge} kind=${kindOf(of)}>${state} <${Age} at=${at} /><//> <span class="error">${causeOf(error)}</span>`
}

/** What is open is being erased. */
function Job({ of }) {
  return html`<${Head} of=${of} /> <span class="dim">for <${Age} at=${of.at} /></span>`
}

/** A message that is planned for later, and a mail that is tried again. */
function Outgoing({ of }) {
  const { state, due } = of
  return html`<${Head} of=${of} /> ${due === undefined ? html`<${Badge} kind="warn">${state}<//>` : html`<${Badge} kind="dim">planned for <${Moment} at=${due} /><//>`}`
}

const KINDS = {
  approval: Approval,
  conversation: Conversation,
  message: Message,
  job: Job,
  send: Outgoing,
  mail: Outgoing,
}
