import { useState } from 'preact/hooks'
import { UNFINISHED } from '../../lib/outcomes.ts'
import { shorten } from '../../lib/short-text.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { searchOf } from '../lib/messages-of.js'
import { Age, Badge, dateTime, Gist, Outcome, preview, span, useLoaded, Wait } from '../lib/parts.js'
import { isFrom, nameOf, partsOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { On } from './open-thing.js'

/** Number of texts that are shown at first, and that *Show more* adds. */
export const TEXTS = { first: 10, more: 40 }
/** The same of events. */
export const EVENTS = { first: 3, more: 20 }
/** Maximum characters of an answer. */
const MAX_ANSWER = 240
/** Maximum number of texts. */
const MAX_TEXTS = 1_000

/**
 * What a person wrote, newest first, each with its answers, and apart from it the events of machines
 * about them. `shown`: the result of `person-show`; `more` shows further texts, `moreEvents` further events. `names`: those of
 * the identities.
 */
export function PersonMessages({ who, names, shown, more, moreEvents }) {
  const { messages, texts, wrote, events } = shown
  if (messages === 0) return null
  const hasMoreEvents = events.newest.length < events.count && events.newest.length < MAX_TEXTS
  const hasMore = wrote.length < texts && wrote.length < MAX_TEXTS
  return html`${
    texts > 0 &&
    html`<h2>What they wrote <span class="dim">${texts.toLocaleString('en')}</span></h2>
    <ul class="plain last-messages" aria-label="What they wrote">${wrote.map((message) => html`<${Text} key=${message.id} of=${message} by=${writerOf(message, who, names)} />`)}</ul>
    ${hasMore && html`<p><button type="button" onClick=${() => more(Math.min(wrote.length + TEXTS.more, MAX_TEXTS))}>Show more</button></p>`}`
  }
    ${
      events.count > 0 &&
      html`<h2>Events <span class="dim">${events.count.toLocaleString('en')}</span></h2>
    <p class="dim">Sent by machines: ${Object.entries(events.gateways).map(([gateway, many], at) => html`${at > 0 && ', '}${many.toLocaleString('en')} on ${gateway}`)}. ${events.count > events.newest.length && 'The newest:'}</p>
    <ul class="plain last-messages" aria-label="Events">${events.newest.map((event) => html`<li key=${event.id}><${Row} of=${event} by=${writerOf(event, who, names)} /></li>`)}</ul>
    ${hasMoreEvents && html`<p><button type="button" onClick=${() => moreEvents(Math.min(events.newest.length + EVENTS.more, MAX_TEXTS))}>More events</button></p>`}`
    }
    <p>${who.map((identity) => html`<a key=${identity} href=${link('messages', { search: searchOf(identity) })}>All their messages${who.length > 1 && ` as ${nameOf(identity)}`}</a> `)}</p>`
}

/**
 * `51 messages: 27 shop, 20 chat · 33 conversations · first 26 Nov, 10:02:11, last …`, each number a
 * link. `shown`: the result of `person-show`.
 */
export function Numbers({ who, shown: { messages, gateways, conversations, first, newest, searchedTo } }) {
  if (messages === 0) return null
  const on = Object.entries(gateways).toSorted(([, a], [, b]) => b - a)
  return html`<p class="person-numbers">${count(messages, 'message')}: ${on.map(([gateway, many], at) => html`${at > 0 && ', '}<a href=${link('messages', { search: searchOn(gateway, who) })}>${many.toLocaleString('en')} ${gateway}</a>`)}
    <span class="dim"> · </span><a href=${link('conversations', { show: 'all', search: searchOf(who[0]) })}>${count(conversations, 'conversation')}</a>
    <span class="dim"> · ${first && messages > 1 && `first ${dateTime(first.at)}, `}last ${dateTime(newest.at)}${searchedTo !== undefined && `; before ${dateTime(searchedTo)} nothing is counted`}</span></p>`
}

/** The search for the messages of a person on a gateway. A search takes one sender. */
function searchOn(gateway, who) {
  const identity = who.find((each) => each.startsWith(`${gateway}:`)) ?? who[0]
  const search = searchOf(identity)
  return /(^| )gateway:/.test(search) ? search : `gateway:${gateway} ${search}`
}

/** Which of several identities a message is from. Two of them may have the same name. */
function writerOf(message, who, names) {
  const identity = who.length > 1 && who.find((each) => isFrom(message, [each]))
  if (!identity) return undefined
  const name = names.get(identity)
  const isUnique = [...names.values()].filter((each) => each === name).length === 1
  return isUnique ? name : partsOf(identity).name
}

function Row({ of, by }) {
  const { id, at, gateway, outcome } = of
  return html`<a data-row href=${link(['messages', id])}><span class="dim"><${Age} at=${at} /> ago</span> <${Gist} of=${of} /></a> ${by && html`<span class="dim">${by}</span> `}<${On} gateway=${gateway} /> ${outcome !== 'done' && html`<${State} outcome=${outcome} />`}`
}

function Text({ of, by }) {
  const { answers } = of
  return html`<li><${Row} of=${of} by=${by} />${of.characters && html`<${Whole} of=${of} />`}
    <ul class="plain answers">${answers.length > 0 ? answers.map((answer) => html`<${Answer} key=${answer.at} of=${answer} to=${of} />`) : html`<${WithoutAnswer} of=${of} />`}</ul></li>`
}

/** The rest of a long text, where it is. */
function Whole({ of: { id, characters } }) {
  const [isOpen, setOpen] = useState(false)
  return html` <button type="button" class="small" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? 'Show less' : `Show all ${characters.toLocaleString('en')} characters`}</button>${isOpen && html`<${WholeText} id=${id} />`}`
}

function WholeText({ id }) {
  const loaded = useLoaded((signal) => invoke('message-show', { id }, signal), [id])
  return html`<${Wait} of=${loaded} what="the text" />${loaded.value && html`<p class="whole-text">${loaded.value.message.text}</p>`}`
}

/** States of an answer other than *sent*, in words. */
const STATES = { dead: 'not delivered', queued: 'being sent' }

/** An answer: its text, whether it was sent, by whom, and how long after the message. */
function Answer({ of: { at, by, text, state, error }, to }) {
  const { gateway, conversation } = to
  return html`<li class="answered">↳ <a data-row href=${link(['conversations', gateway, conversation])}>${shorten(preview(text), MAX_ANSWER) || 'an answer without text'}</a> <span class="dim">${authorOf(by) ?? 'answer'}${state === 'sent' && html`, <span class="good-text">✓ sent</span> ${afterText(at - to.at)}`}</span>
    ${state !== 'sent' && html` <${Badge} kind=${state === 'queued' ? 'busy' : 'bad'}>${STATES[state] ?? state}<//>${error && html` <span class="error">${error}</span>`}`}</li>`
}

/** `after 3 min`, or `at once` within a second. */
function afterText(ms) {
  return ms < 1_000 ? 'at once' : `after ${span(ms)}`
}

function WithoutAnswer({ of: { outcome, settled, answeredWith } }) {
  if (answeredWith !== undefined)
    return html`<li class="dim">↳ <a href=${link(['messages', answeredWith])}>answered with a later message</a></li>`
  if (settled)
    return html`<li class="dim">↳ no answer is needed, says ${authorOf(settled.by) ?? 'somebody'}${settled.reason && `: ${settled.reason}`}</li>`
  // An unfinished message shows its outcome instead.
  return UNFINISHED.includes(outcome) ? null : html`<li class="dim">↳ no answer</li>`
}

/** Outcomes that the list of what is open has in other words. */
const WORDS = { dead: 'failed', undelivered: 'not delivered' }

/** The outcome of a message, in the words of what is open. */
function State({ outcome }) {
  const word = WORDS[outcome]
  return word ? html`<${Badge} kind="bad">${word}<//>` : html`<${Outcome} outcome=${outcome} />`
}
