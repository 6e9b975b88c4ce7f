import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { searchOf } from '../lib/messages-of.js'
import { Age, Badge, dateTime, Gist, Outcome, preview, useLoaded } from '../lib/parts.js'
import { nameOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Maximum numbers of shown messages of the person, and of conversations that are read for answers. */
const LIMITS = { messages: 5, conversations: 4, entries: 30 }

/** The newest messages of a person (`messages`: theirs, newest first), each with its answers below. */
export function LastMessages({ who, messages, isCut }) {
  const shown = messages.slice(0, LIMITS.messages)
  const ids = shown.map(({ id }) => id)
  const { value: answers = [] } = useLoaded((signal) => answersTo(shown, signal), [ids.join()])
  if (shown.length === 0) return null
  const answersOf = (id) =>
    answers.filter(({ inReplyTo }) => inReplyTo === id).toSorted((a, b) => a.at - b.at)
  return html`<h2>Last messages</h2><${Facts} messages=${messages} isCut=${isCut} />
    <ul class="plain last-messages">${shown.map(
      (message) =>
        html`<${Question} key=${message.id} of=${message} />${answersOf(message.id).map((answer) => html`<${Answer} key=${`${message.id} ${answer.at}`} of=${answer} />`)}`,
    )}</ul>
    <p>${who.map((identity) => html`<a key=${identity} href=${link('messages', { search: searchOf(identity) })}>All their messages${who.length > 1 && ` as ${nameOf(identity)}`}</a> `)}</p>`
}

/** `12 messages, first 26 Nov, 10:02:11, last 29 Nov, 22:45:08`. `isCut`: there are older ones. */
function Facts({ messages, isCut }) {
  const [newest] = messages
  const many = count(messages.length, 'message')
  const first = isCut ? '' : `first ${dateTime(messages.at(-1).at)}, `
  return html`<p class="dim facts">${isCut ? `more than ${many}` : many}, ${messages.length > 1 && first}last ${dateTime(newest.at)}</p>`
}

function Question({ of }) {
  const { id, at, gateway, outcome } = of
  return html`<li><a data-row href=${link(['messages', id])}><${Age} at=${at} /> <${Gist} of=${of} /></a> <span class="dim">${gateway}</span> ${outcome === 'undelivered' ? html`<${NotDelivered} />` : html`<${Outcome} outcome=${outcome} />`}</li>`
}

/** An answer to a message of the person. */
function Answer({ of: { at, by, text, state, place } }) {
  return html`<li class="answered"><a data-row href=${link(['conversations', place.gateway, place.conversation])}><${Age} at=${at} /> <b>${authorOf(by) ?? 'answer'}:</b> ${preview(text)}</a>${state === 'dead' && html` <${NotDelivered} />`}${state !== 'sent' && state !== 'dead' && html` <${Badge} kind=${state === 'queued' ? 'busy' : 'bad'}>${state}<//>`}</li>`
}

const NotDelivered = () => html`<${Badge} kind="bad">not delivered<//>`

/** The answers in the conversations of some messages, without requests for approvals. */
async function answersTo(messages, signal) {
  const places = [...Map.groupBy(messages, ({ gateway, conversation }) => `${gateway} ${conversation}`)]
    .slice(0, LIMITS.conversations)
    .map(([, [{ gateway, conversation }]]) => ({ gateway, conversation }))
  const read = places.map(async (place) => {
    const { entries } = await invoke('conversation-show', { ...place, limit: LIMITS.entries }, signal)
    return entries
      .filter(({ role, approval }) => role === 'reply' && approval === undefined)
      .map((entry) => ({ ...entry, place }))
  })
  return (await Promise.all(read)).flat()
}
