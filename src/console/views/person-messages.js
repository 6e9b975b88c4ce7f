import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { searchOf } from '../lib/messages-of.js'
import { Age, Badge, Gist, Outcome, preview, useLoaded } from '../lib/parts.js'
import { nameOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'

/** Maximum numbers of shown messages of the person, and of conversations that are read for answers. */
const LIMITS = { messages: 5, conversations: 4, entries: 30 }

/** The newest messages of a person (`messages`: theirs) with the answers to them, newest first. */
export function LastMessages({ who, messages }) {
  const shown = messages.slice(0, LIMITS.messages)
  const ids = shown.map(({ id }) => id)
  const { value: answers = [] } = useLoaded((signal) => answersTo(shown, signal), [ids.join()])
  if (shown.length === 0) return null
  const entries = [...shown, ...answers.filter(({ inReplyTo }) => ids.includes(inReplyTo))]
  return html`<h2>Last messages</h2><ul class="plain last-messages">${entries
    .toSorted((a, b) => b.at - a.at)
    .map((entry) =>
      entry.inReplyTo
        ? html`<${Answer} key=${`${entry.inReplyTo} ${entry.at}`} of=${entry} />`
        : html`<li key=${entry.id}><a data-row href=${link(['messages', entry.id])}><${Age} at=${entry.at} /> <${Gist} of=${entry} /></a> <span class="dim">${entry.gateway}</span> <${Outcome} outcome=${entry.outcome} /></li>`,
    )}</ul>
    <p>${who.map((identity) => html`<a key=${identity} href=${link('messages', { search: searchOf(identity) })}>All their messages${who.length > 1 && ` as ${nameOf(identity)}`}</a> `)}</p>`
}

/** An answer to a message of the person. */
function Answer({ of: { at, by, text, state, place } }) {
  return html`<li class="answered"><a data-row href=${link(['conversations', place.gateway, place.conversation])}><${Age} at=${at} /> <b>${authorOf(by) ?? 'answer'}:</b> ${preview(text)}</a>${state !== 'sent' && html` <${Badge} kind=${state === 'queued' ? 'busy' : 'bad'}>${state}<//>`}</li>`
}

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
