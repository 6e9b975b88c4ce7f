import { useEffect } from 'preact/hooks'
import { gapText } from '../../lib/gap-text.ts'
import { invoke } from '../lib/api.js'
import { replayEvent } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, Copy, dateTime, Empty, Facts, fullTime, Json, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { AttemptTable, comesAnyway, EventLink, MESSAGES, Outcome, ordinal } from './attempt-table.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000
/** Maximum number of attempts that are loaded. */
const MAX_ATTEMPTS = 300

/** The states of events that a push will send. */
const WAITS = new Set(['retrying', 'unread', 'queued'])

/** One attempt to push an event: its request, its answer, and the other attempts at the event. */
export function AttemptPage({ topic, name, event, at }) {
  const loaded = useLoaded(
    (signal) => invoke('subscription-show', { name, event, limit: MAX_ATTEMPTS }, signal),
    [name, event],
  )
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const push = now.value?.subscriptions?.find((each) => each.name === name && each.topic === topic)
  const attempt = value?.attempts.find((each) => each.at === at)
  const most = value?.policy.attempts
  const state = value?.eventState
  const again = againOf(state)
  const waits = WAITS.has(state?.state)
  const isSent = again ? againText(name) : waits && comesAnyway(name)
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['queues', topic, name]} title=${name} />
    <header class="bar"><h1 id="title">Attempt ${attempt && ordinal(attempt.attempt, most)} <span class="dim">of ${name}</span></h1>
      ${
        attempt &&
        html`<div class="buttons">${!gapText(event) && html`<button changes type="button" disabled=${Boolean(isSent)} title=${isSent || undefined} onClick=${() => replayEvent({ topic, name, id: event, push })}>Send again …</button>`}
        <${Copy} text=${() => JSON.stringify({ ...attempt, sent: value.sent }, null, 2)} label="Copy as JSON" /></div>`
      }</header>
    <${Wait} of=${loaded} what="the attempt" />
    ${value && !attempt && html`<${Empty} title="This attempt is not kept any more.">Only the newest 200 attempts are kept, and the newest 100 failed ones before them.<//>`}
    ${attempt && html`<p><${Outcome} of=${attempt} name=${name} topic=${topic} />${waits && html`. <span class="dim">${comesAnyway(name)}</span>`}${again && html` <${SentAgain} name=${name} of=${again} />`}${attempt.withdrawn && attempt.deliveredAt === undefined && html` <span class="dim">${afterWithdrawal(name, state)}</span>`}</p><${Facts} of=${factsOf(attempt, topic, name, value)} /><${Exchange} of=${attempt} sent=${value.sent} topic=${topic} gap=${gapText(event)} />`}
    ${value?.attempts.length > 1 && html`<h2>All attempts at this ${topic === MESSAGES ? 'message' : 'event'}</h2><${AttemptTable} of=${value.attempts} topic=${topic} name=${name} most=${most} isOfOneEvent chosen=${at} />`}
  </section>`
}

/** A replay that has not tried the event yet, if there is one. */
export function againOf(state) {
  return state?.state === 'waiting' ? state : state?.again
}

const againText = (name) => `A replay sends it to ${name} again.`

/** Says which replay sends an event again, and since when the event waits. */
export function SentAgain({ name, of: { since, job } }) {
  return html`<span class="dim">It waits for an attempt of ${job === undefined ? 'a replay' : html`<a href=${link(['jobs', job])}>a replay</a>`} to ${name}, <span title=${fullTime(since)}>which began ${dateTime(since)}</span>.</span>`
}

/** Whether the push has an event whose replay was cancelled, from another delivery. */
function afterWithdrawal(name, { state, at }) {
  if (state === 'delivered') return `${name} has got it: delivered ${dateTime(at)}.`
  return state === 'withdrawn' ? 'To deliver it, send it again.' : ''
}

function factsOf({ at, ms, since, job, exchange }, topic, name, { url, attempts: [{ event }] }) {
  return {
    began: html`<span title=${fullTime(at)}>${dateTime(at)} · <${Age} at=${at} /> ago</span>`,
    took: took(ms),
    url: html`<code>POST ${exchange?.request.url ?? url}</code>`,
    [topic === MESSAGES && !gapText(event) ? 'message' : 'event']:
      html`<${EventLink} topic=${topic} name=${name} id=${event} />`,
    replayed:
      since !== undefined &&
      html`<${Age} at=${since} /> ago${job !== undefined && html`, by <a href=${link(['jobs', job])}>a replay</a>`}`,
  }
}

/** The request and the answer, side by side. */
function Exchange({ of: { status, reason, answer = '', exchange }, sent, topic, gap }) {
  const { request, response } = exchange ?? {}
  const body = response?.body ?? answer
  return html`<div class="columns">
    <div><h2>Request</h2>${request && html`<${Headers} of=${request.headers} label="Headers of the request" /><p class="dim">${request.bytes.toLocaleString('en')} bytes</p>`}
      ${sent === undefined ? html`<p class="dim">${gap ? `It said that events are missing: ${gap}.` : `The ${topic === MESSAGES ? 'message' : 'event'} is not retained any more.`}</p>` : html`<${Json} value=${readable(sent)} label="Body of the request" />`}</div>
    <div><h2>Answer ${status}</h2>${response && html`<${Headers} of=${response.headers} label="Headers of the answer" />`}
      ${status === undefined ? html`<p class="error">${reason}</p>` : body === '' ? html`<p class="dim">It has no body.</p>` : html`<${Json} value=${readable(body)} label="Body of the answer" />`}
      ${!exchange && html`<p class="dim">Headers are kept for about 200 attempts.</p>`}</div></div>`
}

function Headers({ of, label }) {
  return html`<pre class="headers" tabindex="0" aria-label=${label}>${Object.entries(of)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')}</pre>`
}

/** JSON with line breaks; other text, and JSON that was cut, as it is. */
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
