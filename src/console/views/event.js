import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { replayEvent } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { clock, now } from '../lib/live.js'
import { Age, Copy, dateTime, Empty, Facts, fullTime, Json, span, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { AttemptTable } from './attempt-table.js'
import { againOf, SentAgain } from './push-attempt.js'

/** Polling interval of the attempts, in ms. */
const POLL_INTERVAL = 5_000

/** One event of a topic: its data, and what a group or push did with it. */
export function EventPage({ topic, name, id }) {
  const loaded = useLoaded((signal) => invoke('event-show', { topic, id }, signal), [topic, id])
  const { value: event, error } = loaded
  const push = now.value?.subscriptions?.find((each) => each.name === name && each.topic === topic)
  const isGone = error?.code === 'event_not_found'
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['queues', topic, name]} title=${name} />
    <header class="bar"><h1 id="title">${event?.type ?? 'Event'} <span class="dim">of ${topic}</span></h1>
      ${
        event &&
        html`<div class="buttons"><button changes type="button" onClick=${() => replayEvent({ topic, name, id, push })}>Deliver again …</button>
        <${Copy} text=${() => JSON.stringify(event, null, 2)} label="Copy as JSON" /></div>`
      }</header>
    ${isGone ? html`<${Empty} title="This event is not retained any more.">Retention removed it, or the id is wrong.<//>` : html`<${Wait} of=${loaded} what="the event" />`}
    ${
      event &&
      html`<div class="columns"><div><${Facts} of=${factsOf(event, name, push)} /></div>
      <div>${push && html`<${EventAttempts} name=${name} id=${id} nextAt=${push.nextAt} />`}</div></div>
      <h2>Data</h2><${Json} value=${event.data} label="Data" />`
    }
  </section>`
}

function factsOf({ id, source, timestamp, rootContextId }, name, push) {
  return {
    id: html`<code>${id}</code>`,
    published: html`<span title=${fullTime(timestamp)}><${Age} at=${timestamp} /> ago · ${dateTime(timestamp)}</span>`,
    'published by': source,
    invocation: rootContextId && html`<code>${rootContextId}</code>`,
    [push ? 'push' : 'group']: push ? `${name} → ${push.url}` : name,
  }
}

function EventAttempts({ name, id, nextAt }) {
  const loaded = useLoaded((signal) => invoke('subscription-show', { name, event: id }, signal), [name, id])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const attempts = value?.attempts ?? []
  const again = againOf(value?.eventState)
  const isOpen =
    attempts[0]?.reason !== undefined && !attempts[0].withdrawn && !attempts[0].held && nextAt > clock.value
  return html`<h2>Attempts</h2><${Wait} of=${loaded} what="the attempts" />
    ${value && attempts.length === 0 && html`<p class="dim">None is among the last attempts of <a href=${link(['queues', value.topic, name])}>${name}</a>.</p>`}
    ${attempts.length > 0 && html`<${AttemptTable} of=${attempts} topic=${value.topic} name=${name} most=${value.policy.attempts} isOfOneEvent />`}
    ${value?.more && html`<p class="dim">Only the newest ${attempts.length === 1 ? 'attempt is' : `${attempts.length} attempts are`} shown.</p>`}
    ${again && html`<p><${SentAgain} name=${name} of=${again} /></p>`}
    ${isOpen && html`<p class="dim">The next attempt begins in <b>${span(nextAt - clock.value)}</b>.</p>`}`
}
