import { useEffect, useState } from 'preact/hooks'
import { WAITING } from '../lib/address-keys.js'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Badge, Empty, fullTime, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back, keepTrail } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { MESSAGES, nextInWords, ordinal } from './attempt-table.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000
/** Number of events that are shown at first, and the maximum. */
const SHOWN_AT_FIRST = 100
const MAX_SHOWN = 1_000

/**
 * The events that a push will still send, oldest first. `only`: `new` for those that its receiver has
 * not accepted, `replayed` for those that a replay sends again.
 */
export function WaitingPage({ topic, name, only }) {
  const [limit, setLimit] = useState(SHOWN_AT_FIRST)
  const asked = { name, limit, ...(only && { only }) }
  const loaded = useLoaded((signal) => invoke('subscription-waiting', asked, signal), [name, limit, only])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const { events = [], waiting, replayed = 0, least, more } = value ?? {}
  const many = { new: waiting - replayed, replayed }[only] ?? waiting
  const isCut = more && events.length >= limit
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['queues', topic, name]} title=${name} />
    <header class="bar"><h1 id="title">To send <span class="dim">to ${name}</span></h1></header>
    <${Wait} of=${loaded} what="the events" />
    ${(replayed > 0 || only) && html`<${Tabs} ...${{ topic, name, only, waiting, replayed }} />`}
    ${value && events.length === 0 && html`<${Empty} title=${waiting > 0 ? 'None of these events waits.' : `Nothing waits for ${name}.`} />`}
    ${events.length > 0 && html`<p>${least ? 'At least ' : ''}${count(many, 'event')}, those that wait longest first.${isCut && html` <span class="dim">The first ${events.length.toLocaleString('en')} are shown.</span>`}</p><${Table} ...${{ events, topic, name, isWhole: !more }} />`}
    ${isCut && limit < MAX_SHOWN && html`<p><button type="button" onClick=${() => setLimit(MAX_SHOWN)}>Show up to ${MAX_SHOWN.toLocaleString('en')}</button></p>`}
  </section>`
}

/** All events, those that the receiver has not accepted, and those that a replay sends again. */
function Tabs({ topic, name, only = '', waiting = 0, replayed }) {
  const kinds = [
    ['', 'All', waiting],
    ['new', `${name} has not got`, waiting - replayed],
    ['replayed', 'Sent again by a replay', replayed],
  ]
  return html`<nav class="chips" aria-label="Which events">${kinds.map(([kind, title, many]) => html`<a key=${kind} class="chip" aria-current=${kind === only ? 'page' : undefined} href=${link(['queues', topic, name, WAITING], kind ? { only: kind } : {})}>${title} (${many.toLocaleString('en')})</a>`)}</nav>`
}

function Table({ events, topic, name, isWhole }) {
  const pathOf = ({ id }) => (topic === MESSAGES ? ['messages', id] : ['queues', topic, name, id])
  const keep = () =>
    keepTrail(
      events.map((event) => ({ href: link(pathOf(event)), key: event.id })),
      isWhole,
    )
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Events to send"><table class="attempt-table"><thead><tr><th scope="col">waits for</th><th scope="col">${topic === MESSAGES ? 'message' : 'event'}</th><th scope="col">state</th></tr></thead>
    <tbody>${events.map(
      (event) => html`<tr key=${event.id}>
        <td class="whole-words"><${Age} at=${event.since} />${event.replayed && html` <span class="dim" title=${`Published ${fullTime(event.publishedAt)}`}>sent again by a replay</span>`}</td>
        <td class="what"><a data-row href=${link(pathOf(event))}>${event.text ?? `event …${event.id.slice(-8)}`}</a></td>
        <td><${State} of=${event} /></td></tr>`,
    )}</tbody></table></div>`
}

const KINDS = { retrying: 'bad', queued: 'warn', unread: '' }

function State({ of: { state, attempt, error, nextAt, held } }) {
  const failed =
    error !== undefined && `${attempt === undefined ? '' : `attempt ${ordinal(attempt)}: `}${error}`
  const next = nextAt !== undefined && nextInWords({ nextAt, held })
  return html`<${Badge} kind=${KINDS[state]}>${state}<//> ${failed && html`<span class="error">${failed}</span>`}${next && html`<span class="dim">, ${next}</span>`}`
}
