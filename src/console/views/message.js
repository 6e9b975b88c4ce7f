import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { IN_PROGRESS } from '../../lib/outcomes.ts'
import { call, download, invoke, isViewer } from '../lib/api.js'
import { html } from '../lib/html.js'
import { isNarrow } from '../lib/live.js'
import {
  Age,
  act,
  Badge,
  dateTime,
  Facts,
  Json,
  Outcome,
  Problem,
  TestMark,
  useLoaded,
  Wait,
  Words,
} from '../lib/parts.js'
import { personOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { Chat } from './chat.js'
import { Actions } from './message-actions.js'
import { Answers } from './message-answer.js'
import { MessageState } from './message-state.js'
import { Log, Timeline } from './message-timeline.js'
import { senderOf } from './messages.js'
import { withNotes } from './note.js'
import { RoutingResult } from './routing.js'

/** Polling interval (ms). A finished message may still be answered, pushed or received. */
const POLL_INTERVAL = { open: 1_500, finished: 5_000 }
const OPEN = new Set([...IN_PROGRESS, 'approval'])

/** One message with its history. */
export function MessagePage({ id }) {
  const loaded = useLoaded((signal) => invoke('message-show', { id }, signal), [id])
  const { value: shown, error, reload } = loaded
  useEffect(() => {
    const timer = setTimeout(reload, OPEN.has(shown?.outcome) ? POLL_INTERVAL.open : POLL_INTERVAL.finished)
    return () => clearTimeout(timer)
  }, [shown, error])
  const title = shown && titleOf(shown)
  useEffect(() => {
    if (title) document.title = `${title} · Trivium`
  }, [title])
  const wait = html`<${Wait} of=${loaded} what="the message" />`
  if (!shown)
    return html`<section class="page" aria-busy=${!error}><${Back} to="messages" />${wait}</section>`
  const { message, outcome } = shown
  return html`<section class="page message" aria-labelledby="title">
    <${Back} to="messages" />
    <header class="bar">
      <h1 id="title">${title} ${message.data?.replyTarget?.test && html`<${TestMark} /> `}<${Outcome} outcome=${outcome} /></h1>
      <${Actions} shown=${shown} reload=${reload} />
    </header>
    ${wait}
    <${MessageState} shown=${shown} />
    <div class="columns in-three">
      <div>
        <${Origin} message=${message} />${isNarrow.value && html`<${Ids} shown=${shown} />`}
        <${Body} shown=${shown} />
        ${message.attachments?.length > 0 && html`<h2>Files</h2><ul class="files">${message.attachments.map((file) => html`<li key=${file.sha256}><${File} file=${file} message=${id} /></li>`)}</ul>`}
        <${Answers} shown=${shown} />
      </div>
      <div>
        <h2>Timeline</h2>
        <${Timeline} shown=${shown} />
        <h2>Details</h2>
        <${Facts} of=${factsOf(shown)} />
        <${Explain} id=${id} />
        <${Log} lines=${shown.logs ?? []} history=${shown.history} />
        <details><summary>The whole message</summary><${Json} value=${message} label="The message" /></details>
      </div>
      <div><${ItsConversation} message=${message} /></div>
    </div>
  </section>`
}

function titleOf({ message: { subject, text, gateway, data, transport, from }, summary }) {
  if (subject) return subject
  // The text of a webhook is JSON: its event or summary says more than its first line.
  if (transport === 'webhook' && data?.event)
    return `${data.event} at ${gateway}${from.name ? ` by ${from.name}` : ''}`
  if (summary) return summary.slice(0, 80)
  if (text.startsWith('{')) return `A message at ${gateway}`
  return text.split('\n')[0].slice(0, 80) || 'A message without text'
}

/** Who wrote a message, and when. */
function Origin({ message }) {
  const { from, receivedAt } = message
  // A name that is known from another gateway hides the address that is the id.
  const address = from.name && (from.address ?? (from.id?.includes('@') && from.id !== from.name && from.id))
  return html`<p class="origin"><b>${senderOf(from)}</b>${address && html` <span class="dim">${address}</span>`}${from.verified === false && html` <${Badge} kind="warn">not verified<//>`} <span class="dim"><${Age} at=${receivedAt} /> ago</span>${!isViewer.value && html` <a class="dim" href=${link('people', { who: personOf(message) })} title=${PERSON_HINT}>see this person</a>`}</p>`
}

/** On a phone, where the details are far below: its route, its id and its key. */
function Ids({ shown: { message, history, running } }) {
  const { id, key } = message
  const { route } = running ?? history.findLast(({ detail }) => detail?.route)?.detail ?? {}
  return html`<p class="ids dim">${route && html`<a href=${link(['routes', route])}>${route}</a> · `}<code title=${id}>…${id.slice(-8)}</code>${key && html` · <code>${key}</code>`}</p>`
}

/** Whether somebody unfolded payloads or folded them: also those of the messages that are opened next. */
const unfolded = signal()
/** Maximum lines of a payload that is not folded at first. */
const SHORT = 40

/**
 * The text of a message. JSON, which webhooks send in one line, is indented, and folded if a line
 * says for people what is in it, and it is long or the screen narrow.
 */
function Body({ shown: { message, summary } }) {
  const { text } = message
  const json = indented(text)
  if (json === undefined)
    return html`<pre class="body" tabindex="0" aria-label="Text">${text || '(none)'}</pre>`
  const payload = html`<pre tabindex="0" aria-label="Text">${json}</pre>`
  if (!summary) return payload
  const lines = json.split('\n').length
  const isOpen = unfolded.value ?? (lines <= SHORT && !isNarrow.value)
  const toggle = ({ target }) => {
    // Also called when the element appears open.
    if (target.open !== isOpen) unfolded.value = target.open
  }
  return html`<p class="gist">${summary}</p>
    <details class="payload" open=${isOpen} onToggle=${toggle}><summary>Payload <span class="dim">${count(lines, 'line')}</span></summary>${payload}</details>`
}

/** Indented JSON; undefined for other texts. */
function indented(text) {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}

function factsOf({ message, traceUrl, unanswerable, history, running }) {
  const { id, gateway, transport, conversation, key, data, trace, to, receivedAt } = message
  return {
    gateway: html`<a href=${link('messages', { gateway })}>${gateway}</a> (${transport})`,
    route: routeOf(history, running),
    event: data?.event,
    to: Array.isArray(to) ? to.map(String).join(', ') : undefined,
    // What to do about it is where somebody wants to answer.
    answer:
      unanswerable &&
      html`<span title=${unanswerable}>not possible: <${Words} text=${unanswerable.split('; ')[0]} /></span>`,
    conversation: html`<a href=${link(['conversations', gateway, conversation])}>${conversation}</a>`,
    received: dateTime(receivedAt),
    id: html`<code>${id}</code>`,
    key: key && html`<code>${key}</code>`,
    trace: traceUrl
      ? html`<a href=${traceUrl} rel="noreferrer" target="_blank">${trace}</a>`
      : trace && html`<code>${trace}</code>`,
  }
}

/** The route of the last attempt, and its skill, as links. */
function routeOf(history, running) {
  const { route, skill } = running ?? history.findLast(({ detail }) => detail?.route)?.detail ?? {}
  return route && html`<${RouteLinks} route=${route} known=${skill} />`
}

/** `known`: the skill, if the attempt has it; otherwise it is that of the current route. */
function RouteLinks({ route, known }) {
  const { value = [] } = useLoaded(
    async (signal) => (known ? [] : invoke('route-list', {}, signal)),
    [route, known],
  )
  const current = value.find(({ name, target }) => name === route && target === 'skill')
  const skill = known ?? current?.to
  return html`<a href=${link(['routes', route])}>${route}</a>${skill && html` (skill <a href=${link(['skills', skill])}>${skill}</a>)`}`
}

/** What the link to a person shows. */
export const PERSON_HINT = 'All that is stored about this person, to read, export or erase'

function File({ file, message }) {
  const open = () =>
    act(async () => {
      const blob = await download(file.sha256, message)
      const address = URL.createObjectURL(blob)
      Object.assign(document.createElement('a'), { href: address, download: file.name }).click()
      setTimeout(() => URL.revokeObjectURL(address), 10_000)
    })
  return html`<button type="button" class="linkish" onClick=${open}>${file.name}</button> <span class="dim">${file.type}, ${Math.ceil(file.size / 1024)} KB</span>`
}

/** Why each route did or did not match, by the current routes. */
function Explain({ id }) {
  const [isOpen, setOpen] = useState(false)
  const { value, error } = useLoaded(
    async (signal) => (isOpen ? call('GET', `/v1/messages/${id}/explain`, undefined, signal) : undefined),
    [id, isOpen],
  )
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>Why this route?</summary>
    ${error && html`<${Problem} error=${error} />`}
    ${value && html`<${RoutingResult} routes=${value} />`}
  </details>`
}

/**
 * The newest messages and notes of its conversation, as a chat that marks the message. Its text and
 * answers are shortened here, because the page shows them in full.
 */
function ItsConversation({ message }) {
  const { gateway, conversation, id } = message
  const { value, error, reload } = useLoaded(
    (signal) => invoke('conversation-show', { gateway, conversation, limit: 20 }, signal),
    [id],
  )
  if (error) return html`<h2>The conversation</h2><p class="dim">${error.message}</p>`
  const shown = value ? withNotes(value) : []
  if (shown.every((each) => each.id === id || each.inReplyTo === id)) return null
  const isIn = shown.some((each) => each.id === id)
  return html`<h2>The conversation</h2>${!isIn && html`<p class="dim">This message is before these.</p>`}<${Chat} entries=${shown} here=${id} reload=${reload} />`
}
