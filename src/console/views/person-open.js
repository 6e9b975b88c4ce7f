import { invoke } from '../lib/api.js'
import { useAttempt } from '../lib/attempts.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { Held, isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { changes, clock } from '../lib/live.js'
import { readOf } from '../lib/messages-of.js'
import { Age, Badge, Gist, Outcome, span, useLoaded, Wait } from '../lib/parts.js'
import { isFrom, partsOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'

/** Maximum numbers of records that are read, and of shown ones of a kind. */
const LIMITS = { conversations: 50, approvals: 1_000, messages: 50, shown: 10 }
/** Outcomes of messages that Trivium still works on, or that failed. */
const UNFINISHED = 'waiting,retrying,replying,dead'

/**
 * What is open with a person: conversations that wait or that somebody has taken over, approvals,
 * and messages that wait, are tried again or failed. `turn` changes when it is to be read again.
 */
export function OpenThings({ who, turn }) {
  const loaded = useLoaded(
    (signal) => readOpen(who, signal),
    [who.join('\n'), turn, changes.approvals.value, changes.dead.value],
  )
  const { conversations, approvals, messages, isCut } = loaded.value ?? {}
  if (!loaded.value) return html`<h2>Open</h2><${Wait} of=${loaded} what="what is open" />`
  const all = [
    ...approvals.map((each) => html`<${Approval} key=${each.id} of=${each} />`),
    ...conversations.map((each) => html`<${Conversation} key=${each.id} of=${each} />`),
    ...messages.map((each) => html`<${Message} key=${each.id} of=${each} />`),
  ]
  return html`<h2>Open</h2>
    ${all.length > 0 ? html`<ul class="plain open-things" aria-label="Open">${all}</ul>` : html`<p class="dim">Nothing is open: nobody waits for an answer or an approval, and no message waits or has failed${isCut && ', among the newest messages'}.</p>`}
    ${all.length > 0 && isCut && html`<p class="dim">Only the newest messages were searched: older ones may be open, too.</p>`}`
}

async function readOpen(who, signal) {
  const [talks, pending, unfinished] = await Promise.all([
    readOf(who, 'conversation-list', 'conversations', { limit: LIMITS.conversations }, signal),
    invoke('approval-list', { status: 'pending', limit: LIMITS.approvals }, signal),
    readOf(who, 'message-search', 'messages', { outcome: UNFINISHED, limit: LIMITS.messages }, signal),
  ])
  const conversations = talks.found.filter(
    ({ waitingSince, heldBy, undelivered }) => waitingSince !== undefined || heldBy || undelivered,
  )
  const listed = new Set(conversations.map(placeOf))
  const messages = unfinished.found.filter((each) => each.outcome !== 'waiting' || !listed.has(placeOf(each)))
  return {
    approvals: pending.filter((each) => isBy(each, who)).slice(0, LIMITS.shown),
    conversations: conversations.slice(0, LIMITS.shown),
    messages: messages.slice(0, LIMITS.shown),
    isCut: talks.isCut || unfinished.isCut || Math.max(conversations.length, messages.length) > LIMITS.shown,
  }
}

const placeOf = ({ gateway, conversation }) => `${gateway} ${conversation}`

/** Whether an approval was asked for by a person, or for a message of them. */
function isBy({ by = '', message }, who) {
  const { gateway, name, isExternal } = partsOf(by)
  const senders = [{ gateway, from: { id: name, external: isExternal } }]
  if (message) senders.push({ gateway: message.gateway, from: { id: message.from } })
  return senders.some((sender) => isFrom(sender, who))
}

function Approval({ of: { id, title, skill, requestedAt, message } }) {
  return html`<li><a data-row href=${link('approvals', { id })}>${title ?? skill}</a> <span class="dim">${message?.gateway}</span> <${Badge} kind="warn">waits for approval <${Age} at=${requestedAt} /><//></li>`
}

/** Who took over a conversation and why, and how long the person has been waiting. */
function Conversation({ of }) {
  const { gateway, conversation, waitingSince, heldBy, outcome, undelivered } = of
  return html`<li><a data-row href=${link(['conversations', gateway, conversation])}><${Gist} of=${{ ...of, event: undefined }} /></a> <span class="dim">${gateway}</span>
    ${waitingSince !== undefined && html` <${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`}
    ${undelivered && html` <${Badge} kind="bad">not delivered<//>${undelivered.error && html` <span class="error">${causeOf(undelivered.error)}</span>`}`}
    ${isHeld(outcome, of) && html` <${Held} />`}
    ${heldBy ? html` <span><b>${authorOf(heldBy.by) ?? 'Somebody'}</b> has taken over, <${Age} at=${heldBy.since} /> ago${heldBy.reason && html`: <span class="said-reason">${heldBy.reason}</span>`}</span>` : waitingSince !== undefined && html` <span class="dim">nobody has taken over</span>`}</li>`
}

/** A message that waits, is tried again or failed, and why. */
function Message({ of }) {
  const { id, gateway, outcome } = of
  const { error, nextAt, pausedBy = [], budget } = useAttempt(of) ?? {}
  const paused = pausedBy.map(({ kind, name }) =>
    kind === 'conversation' ? 'taken over' : `${kind} ${name}`,
  )
  return html`<li><a data-row href=${link(['messages', id])}><${Gist} of=${of} /></a> <span class="dim">${gateway}</span> <${Outcome} outcome=${outcome} />
    ${error && html` <span class="error">${causeOf(error)}</span>`}
    ${outcome === 'retrying' && nextAt > clock.value && html` <span class="dim">again in ${span(nextAt - clock.value)}</span>`}
    ${paused.length > 0 && html` <span class="dim">paused: ${paused.join(', ')}</span>`}
    ${budget && html` <span class="dim">${budget}</span>`}</li>`
}
