import { useEffect, useState } from 'preact/hooks'
import { call, download, invoke, isViewer } from '../lib/api.js'
import { DecideHere } from '../lib/approval.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { Modal } from '../lib/modal.js'
import {
  Age,
  act,
  ask,
  Badge,
  Copy,
  Empty,
  Facts,
  Json,
  Outcome,
  Problem,
  took,
  useLoaded,
  useOnce,
  Wait,
} from '../lib/parts.js'
import { CancelRun } from '../lib/pause.js'
import { go, link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { senderOf } from './messages.js'

/** Polling interval (ms). A finished message may still be answered, pushed or received. */
const AGAIN = { open: 1_500, finished: 5_000 }
const OPEN = new Set(['waiting', 'running', 'retrying', 'approval', 'replying'])

/** One message with its history. */
export function MessagePage({ id }) {
  const loaded = useLoaded((signal) => invoke('message-show', { id }, signal), [id])
  const { value: shown, error, reload } = loaded
  useEffect(() => {
    const timer = setTimeout(reload, OPEN.has(shown?.outcome) ? AGAIN.open : AGAIN.finished)
    return () => clearTimeout(timer)
  }, [shown, error])
  const wait = html`<${Wait} of=${loaded} what="the message" />`
  if (!shown)
    return html`<section class="page" aria-busy=${!error}><${Back} to="messages" title="Messages" />${wait}</section>`
  const { message, outcome } = shown
  return html`<section class="page message" aria-labelledby="title">
    <${Back} to="messages" title="Messages" />
    <header class="bar">
      <h1 id="title">${titleOf(message)} <${Outcome} outcome=${outcome} /></h1>
      <${Actions} shown=${shown} reload=${reload} />
    </header>
    ${wait}
    <div class="columns">
      <div>
        <${Facts} of=${factsOf(shown)} />
        <h2>Text</h2>
        <pre class="body" tabindex="0" aria-label="Text">${readable(message.text) || '(none)'}</pre>
        ${message.attachments?.length > 0 && html`<h2>Files</h2><ul class="files">${message.attachments.map((file) => html`<li key=${file.sha256}><${File} file=${file} message=${id} /></li>`)}</ul>`}
        <${Around} message=${message} />
      </div>
      <div>
        <h2>Timeline</h2>
        <${Timeline} shown=${shown} />
        <${Explain} id=${id} />
        <${Log} lines=${shown.logs ?? []} />
        <details><summary>The whole message</summary><${Json} value=${message} label="The message" /></details>
      </div>
    </div>
  </section>`
}

function titleOf({ subject, text, gateway, data }) {
  if (subject) return subject
  // The text of a webhook is JSON, so its event is more informative than its first line.
  if (data?.event || text.startsWith('{')) return `${data?.event ?? 'A message'} at ${gateway}`
  return text.split('\n')[0].slice(0, 80) || 'A message without text'
}

/** JSON with indentation, as webhooks send it in one line; other text unchanged. */
function readable(text) {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Log lines of this daemon about the message. */
function Log({ lines }) {
  if (lines.length === 0) return null
  return html`<h2>Log</h2>
    <ol class="log">${lines.map(
      ({ at, level, message, error, stack, ...fields }, index) => html`<li key=${index} class=${level}>
      <time title=${new Date(at).toISOString()}>${timeOfDay(at)}</time> <b>${level}</b> ${message} <span class="fields">${fieldsOf(fields)}</span>
      ${error && html`<p class="error">${error}</p>`}
      ${stack && html`<details><summary>Stack</summary><pre tabindex="0" aria-label="Stack">${stack}</pre></details>`}
    </li>`,
    )}</ol>`
}

function factsOf({ message, traceUrl }) {
  const { id, gateway, transport, from, conversation, key, data, trace, to } = message
  const verified =
    from.verified === false ? html`${senderOf(from)} <${Badge} kind="warn">not verified<//>` : senderOf(from)
  return {
    id: html`<code>${id}</code>`,
    received: html`<${Age} at=${message.receivedAt} /> ago · ${new Date(message.receivedAt).toLocaleString()}`,
    gateway: html`<a href=${link('messages', { gateway })}>${gateway}</a> (${transport})`,
    from: html`${verified}${!isViewer.value && html` <a class="dim" href=${link('people', { who: personOf(message) })}>what is kept</a>`}`,
    address: from.address && from.name ? from.address : undefined,
    to: Array.isArray(to) ? to.map(String).join(', ') : undefined,
    event: data?.event,
    conversation: html`<a href=${link(['conversations', gateway, conversation])}>${conversation}</a>`,
    key: key && html`<code>${key}</code>`,
    trace: traceUrl
      ? html`<a href=${traceUrl} rel="noreferrer" target="_blank">${trace}</a>`
      : trace && html`<code>${trace}</code>`,
  }
}

/** The person, in the format of the view of people. */
function personOf({ gateway, from }) {
  return `${gateway}:${from.external ? 'external:' : ''}${from.address ?? from.id}`
}

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

const ROADS = {
  accept: 'accept',
  dispatch: 'dispatch',
  receive: 'receive',
  outbox: 'out',
  events: 'events',
  push: 'push',
}
const KINDS = {
  done: 'good',
  sent: 'good',
  failed: 'bad',
  dead: 'bad',
  'send failed': 'bad',
  'not sent': 'bad',
  bounced: 'bad',
}

/** The history on the three roads on one time axis, with durations. */
function Timeline({ shown }) {
  const { history, pushes = [], receive, events = [] } = shown
  const start = history[0]?.at ?? shown.message.receivedAt
  const pushed = pushes.map(({ at, subscription, ms, status, reason, attempt }) => {
    return {
      at,
      road: 'push',
      what: reason ? 'failed' : 'sent',
      detail: { to: subscription, attempt, ms, status, error: reason },
    }
  })
  const notes = [...history, ...pushed].toSorted((a, b) => a.at - b.at)
  return html`<ol class="timeline">
    ${notes.map(
      (
        { at, road, what, detail = {} },
        index,
      ) => html`<li key=${index} class=${`${road} ${KINDS[what] ?? ''}`}>
      <div class="when"><time title=${new Date(at).toISOString()}>${index === 0 ? timeOfDay(at) : `+${took(at - start)}`}</time></div>
      <div class="what"><span class="road">${ROADS[road] ?? road}</span> <b>${what}</b> <${Detail} detail=${detail} at=${at} /></div>
    </li>`,
    )}
  </ol>
  <${Facts} of=${{
    'receive road': `${receive?.state ?? ''}${receive?.by ? ` by ${receive.by}` : ''}`,
    'events road':
      events.length > 0
        ? events.map(({ group, state }) => `${group}: ${state}`).join(' · ')
        : 'no consumer group',
  }} />`
}

function Detail({ detail, at }) {
  // The key repeats the message id and the route name.
  const { text, error, reason, tools, ms, args, key, delay, ...said } = detail
  return html`${ms !== undefined && html`<span class="took">${took(ms)}</span> `}<span class="fields">${fieldsOf(said)}</span>
    ${(error || reason) && html`<p class="error">${error ?? reason}</p>`}
    ${delay !== undefined && html`<p class="dim">Next attempt at ${timeOfDay(at + delay)}, after ${took(delay)}.</p>`}
    ${
      tools?.length > 0 &&
      html`<ul class="tools">${tools.map(
        (
          tool,
          at,
        ) => html`<li key=${at}><code>${tool.tool}</code> ${tool.ms !== undefined && html`<span class="took">${took(tool.ms)}</span>`}
      ${tool.error ? html`<span class="error">${tool.error}</span>` : html`<span class="fields">${tool.args}</span>`}</li>`,
      )}</ul>`
    }
    ${text && html`<pre class="reply" tabindex="0" aria-label="Reply">${text}</pre>`}`
}

function fieldsOf(fields) {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
}

function timeOfDay(at) {
  return new Date(at).toISOString().slice(11, 23)
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
    ${value && html`<${Routes} routes=${value} />`}
  </details>`
}

/** The result of each route for a message. */
export function Routes({ routes }) {
  if (routes.length === 0) return html`<p>There are no routes.</p>`
  return html`<ul class="routes">${routes.map(
    (route) => html`<li key=${route.route} class=${route.chosen ? 'chosen' : ''}>
    <b>${route.route}</b> <${Badge} kind=${route.chosen ? 'good' : 'dim'}>${route.chosen ? 'answers' : route.matched ? 'matches, too late' : 'no'}<//>
    <ul>${route.keys.map((key) => html`<li key=${key.key}>${key.matched ? '✓' : '✗'} <code>${key.key}</code> wants ${key.wanted}, the message has ${key.actual}${key.reason && html`: <b>${key.reason}</b>`}</li>`)}</ul>
  </li>`,
  )}</ul>`
}

/** The newest messages of its conversation, as a chat. */
function Around({ message }) {
  const { gateway, conversation, id } = message
  const { value, error } = useLoaded(
    (signal) => invoke('conversation-show', { gateway, conversation, limit: 20 }, signal),
    [id],
  )
  if (error) return html`<h2>The conversation</h2><p class="dim">${error.message}</p>`
  // A single message is already shown.
  if (!value || value.entries.every((entry) => entry.id === id)) return null
  return html`<h2>The conversation</h2><${Chat} entries=${value.entries} here=${id} />`
}

/** Messages on the left, replies on the right. */
export function Chat({ entries, here }) {
  if (entries.length === 0) return html`<${Empty} title="Nothing is left of it." />`
  return html`<ol class="chat">${entries.map(
    (entry, at) => html`<li key=${at} class=${`${entry.role} ${here && entry.id === here ? 'here' : ''}`}>
    <p class="who">${entry.role === 'reply' ? (entry.by ?? 'reply') : html`<a href=${link(['messages', entry.id])}>${senderOf(entry.from)}</a>`} · <${Age} at=${entry.at} /> ago
      ${entry.state && entry.state !== 'sent' && html` <${Badge} kind="bad">${entry.state}<//>`}</p>
    <p class="said">${entry.text || '(no text)'}</p>
    ${entry.error && html`<p class="error">${entry.error}</p>`}
  </li>`,
  )}</ol>`
}

/** The possible actions. Each names its effect and asks for confirmation. */
function Actions({ shown, reload }) {
  const { message, outcome } = shown
  const { id, gateway } = message
  const [form, setForm] = useState()
  const again = async () => {
    if (
      !(await ask({
        title: 'Try this message again?',
        body: `It goes back to the end of its conversation in “${gateway}”, with fresh attempts.`,
        action: 'Retry',
      }))
    )
      return
    await act(async () => {
      await invoke('dead-letter-retry', { id })
      changes.dead.value++
      return 'It is back in its lane.'
    })
    reload()
  }
  return html`<div class="buttons">
    ${outcome === 'approval' && html`<${DecideHere} isMeant=${(request) => request.message?.id === id} done=${reload} />`}
    ${outcome === 'dead' && html`<button changes type="button" class="primary" onClick=${again}>Retry</button>`}
    ${outcome === 'running' && html`<${CancelRun} id=${id} done=${reload} />`}
    <button changes type="button" onClick=${() => setForm('answer')}>Answer …</button>
    <button changes type="button" onClick=${() => setForm('resend')}>Edit and send again …</button>
    <${Copy} label="Copy as curl" text=${asCurl(message)} />
    ${
      form &&
      html`<${Form} kind=${form} message=${message} done=${(next) => {
        setForm(undefined)
        if (next) go(['messages', next])
        else reload()
      }} />`
    }
  </div>`
}

function Form({ kind, message, done }) {
  const isAnswer = kind === 'answer'
  const [text, setText] = useState(isAnswer ? '' : message.text)
  const [isBusy, once] = useOnce()
  const send = async () => {
    let next
    const isSent = await act(async () => {
      if (isAnswer) {
        await invoke('gateway-send', { messageId: message.id, text })
        return `Your answer is on its way to ${senderOf(message.from)}.`
      }
      next = (await invoke('message-resend', { id: message.id, ...(text !== message.text && { text }) })).id
      return 'It is accepted as a new message.'
    })
    if (isSent) done(next)
  }
  return html`<${Modal} leave=${() => done()} aria-labelledby="form-title">
    <form onSubmit=${(event) => {
      event.preventDefault()
      once(send)
    }}>
      <h2 id="form-title">${isAnswer ? `Answer ${senderOf(message.from)}` : 'Edit and send again'}</h2>
      <p class="hint">${
        isAnswer
          ? `It goes where the message came from: ${message.gateway}, as a reply of yours.`
          : 'It is accepted as a new message of the same sender and conversation, and routed as the routes are now. With another text the sender counts as not verified.'
      }</p>
      <label>Text<textarea rows="8" required=${isAnswer} value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
      <div class="buttons"><button type="button" onClick=${() => done()}>Cancel</button><button class="primary" disabled=${isBusy}>${isAnswer ? 'Send the answer' : 'Send again'}</button></div>
    </form>
  <//>`
}

function asCurl({ gateway, text, conversation, from, subject }) {
  const body = JSON.stringify({ gateway, text, conversation, from: from.id, ...(subject && { subject }) })
  return `curl -X POST ${location.origin}/v1/messages -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body.replaceAll("'", `'\\''`)}'`
}
