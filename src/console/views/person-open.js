import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { waitingPushTexts, whyPushWaits } from '../../lib/waiting-push-text.ts'
import { invoke } from '../lib/api.js'
import { DecideIt, usePending } from '../lib/approval.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { Held, isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { changes } from '../lib/live.js'
import { Age, Badge, Moment, useLoaded, Wait } from '../lib/parts.js'
import { retryMessage } from '../lib/retry-message.js'
import { link } from '../lib/router.js'
import { Attempt } from './open-attempt.js'
import { BadgeOf, OpenRow } from './open-row.js'
import { MESSAGE_TOPIC, On, placeOfThing, ThingTitle } from './open-thing.js'
import { AlsoOpen, hasAlsoOpen, hasOfOthers, OfOthers } from './person-also-open.js'
import { AnswerField } from './person-answer.js'

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
  const box = useRef()
  useLayoutEffect(() => {
    const first = () => box.current?.querySelector('[data-answers]')
    return onKey(
      'r',
      'answer',
      () => first()?.click(),
      () => Boolean(first()),
    )
  }, [])
  if (!loaded.value) return html`<h2>Open</h2><${Wait} of=${loaded} what="what is open" />`
  const { all, older } = loaded.value
  const others = all.length - MAX_SHOWN
  const isNothing = all.length + pushes.length === 0 && !hasAlsoOpen(counted) && !hasOfOthers(counted)
  return html`<div ref=${box}><h2>Open</h2>
    ${all.length > 0 && html`<ul class="plain open-things" aria-label="Open">${all.slice(0, MAX_SHOWN).map((thing) => html`<${Thing} key=${`${thing.kind} ${thing.id}`} of=${thing} pending=${pending} changed=${changed} />`)}</ul>`}
    ${isNothing && html`<p class="dim">Nothing is open: nobody waits for an answer or an approval, and no message waits or has failed${older && ', among the newest messages'}.</p>`}
    ${others > 0 && html`<p class="dim">And ${others.toLocaleString('en')} more.</p>`}
    ${all.length > 0 && older && html`<p class="dim">Only the newest messages were searched: older ones may be open, too.</p>`}
    <${AlsoOpen} of=${counted} /><${OfOthers} of=${counted?.mentions} />
    ${pushes.length > 0 && html`<ul class="plain open-things" aria-label="Not delivered yet">${pushes.map((push) => html`<${Waiting} key=${push.name} of=${push} />`)}</ul>`}</div>`
}

/** The messages that a push has still to send, and why it does not. No person needs to act on them. */
function Waiting({ of: push }) {
  const { name, since, failingSince = since } = push
  const { said, kind, why } = whyPushWaits(push)
  const badge = html`<${Badge} kind=${kind}>${said} · <${Age} at=${failingSince} /><//>`
  const place = link(['queues', MESSAGE_TOPIC, name])
  return html`<${OpenRow} badge=${badge} why=${why && html`<span class=${kind === 'bad' ? 'error' : 'dim'}>${why}</span>`}>${waitingPushTexts(push).map((text) => html`<a key=${text} data-row href=${place}>${text}</a> `)}<//>`
}

/** Open things by their kind. Other kinds are replies and pushes that failed. */
function Thing({ of, pending, changed }) {
  const Shown = KINDS[of.kind] ?? Letter
  return html`<${Shown} of=${of} pending=${pending} changed=${changed} />`
}

/** What colleagues noted in the conversation of an open thing. */
function Notes({ of: { notes = [] } }) {
  if (notes.length === 0) return null
  return html`<ul class="plain thing-notes" aria-label="Notes">${notes.map(({ id, at, by, text }) => html`<li key=${id}><b>Note</b> of ${authorOf(by) ?? 'somebody'}, <${Age} at=${at} /> ago: <span class="said-reason">${text}</span></li>`)}</ul>`
}

/** The title of an open thing as a link to its page, with its gateway; then since when or why, and notes. */
function Row({ of, why, action, below, badge = html`<${BadgeOf} of=${of} />` }) {
  const place = placeOfThing(of)
  const title = html`<${ThingTitle} of=${of} />`
  const notes = html`<${Notes} of=${of} />`
  return html`<${OpenRow} ...${{ badge, why, notes, action, below }}>${place ? html`<a data-row href=${place}>${title}</a>` : title} <${On} gateway=${of.gateway} /><//>`
}

function Approval({ of, pending, changed }) {
  const request = pending.find(({ id }) => id === of.id)
  return html`<${Row} of=${of} action=${request && html`<${DecideIt} request=${request} done=${changed} />`} />`
}

/** Who took over a conversation and why, and how long the person has been waiting. */
function Conversation({ of, changed }) {
  const [isAnswering, setAnswering] = useState(false)
  const { waitingSince, heldBy, outcome, undelivered, newest, failed } = of
  const waits = waitingSince !== undefined
  const badge = html`<${BadgeOf} of=${of} />${waits && failed && html` <${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`}${isHeld(outcome, of) && html` <${Held} />`}`
  const why = html`${undelivered && html`<span class="error">${['not delivered', undelivered.error && causeOf(undelivered.error)].filter(Boolean).join(': ')}</span> `}${newest && html`<${Attempt} of=${of} error=${newest.error} />`}${heldBy && html`<span><b>${authorOf(heldBy.by) ?? 'Somebody'}</b> has taken over, <${Age} at=${heldBy.since} /> ago${heldBy.reason && html`: <span class="said-reason">${heldBy.reason}</span>`}</span>`}`
  const action =
    waits &&
    html`<button changes data-answers type="button" class="small" aria-expanded=${isAnswering} onClick=${() => setAnswering(!isAnswering)}>Answer …</button>`
  const below = waits && isAnswering && html`<${AnswerField} of=${of} done=${changed} />`
  return html`<${Row} ...${{ of, badge, why, action, below }} />`
}

/** A message that waits, is tried again or failed, since when, and why. */
function Message({ of, changed }) {
  const action =
    of.failed &&
    html`<button changes type="button" class="small" onClick=${() => retryMessage(of, changed)}>Retry …</button>`
  return html`<${Row} of=${of} why=${html`<${Attempt} of=${of} error=${of.error} />`} action=${action} />`
}

/** A reply or a push that failed. */
function Letter({ of }) {
  const { queue, gateway, state, error } = of
  const why = html`<span class="error">${state}: ${causeOf(error)}</span>`
  return html`<${Row} of=${{ ...of, gateway: gateway ?? queue }} why=${why} />`
}

/** What is open is being erased. */
const Job = ({ of }) => html`<${Row} of=${of} />`

/** A message that is planned for later, and a mail that is tried again. */
function Outgoing({ of }) {
  const { state, due } = of
  const badge =
    due === undefined
      ? html`<${Badge} kind="warn">${state}<//>`
      : html`<${Badge} kind="dim">planned for <${Moment} at=${due} /><//>`
  return html`<${Row} of=${of} badge=${badge} />`
}

const KINDS = {
  approval: Approval,
  conversation: Conversation,
  message: Message,
  job: Job,
  send: Outgoing,
  mail: Outgoing,
}
