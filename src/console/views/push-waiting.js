import { useEffect } from 'preact/hooks'
import { gapText } from '../../lib/gap-text.ts'
import { waitingState } from '../../lib/waiting-state.ts'
import { WAITING } from '../lib/address-keys.js'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Badge, Empty, fullTime, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back, keepTrail } from '../lib/trail.js'
import { MESSAGES, nextInWords, ordinal } from './attempt-table.js'
import { NextPage, PAGE, rangeInWords } from './next-page.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000
/**
 * The events that a push will still send, oldest first. `only`: `new` for those that its receiver has
 * not accepted, `replayed` for those that a replay sends again.
 */
export function WaitingPage({ topic, name, query: { only, after, from = '0' } }) {
  const chosen = only ? { only } : {}
  const asked = { name, limit: PAGE, ...chosen, ...(after && { after }) }
  const loaded = useLoaded((signal) => invoke('subscription-waiting', asked, signal), [name, after, only])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const { events = [], waiting, replayed = 0, least, more, next } = value ?? {}
  const all = { new: waiting - replayed, replayed }[only] ?? waiting
  const isHeld = events.some(({ held }) => held === 'failing')
  const place = { first: Number(from), shown: events.length, all, least, isWhole: !more }
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['queues', topic, name]} title=${name} />
    <header class="bar"><h1 id="title">To send <span class="dim">to ${name}</span></h1></header>
    <${Wait} of=${loaded} what="the events" />
    ${(replayed > 0 || only) && html`<${Tabs} ...${{ topic, name, only, waiting, replayed }} />`}
    ${value && events.length === 0 && html`<${Empty} title=${after ? 'No later event waits.' : waiting > 0 ? 'None of these events waits.' : `Nothing waits for ${name}.`} />`}
    ${events.length > 0 && html`<p>${rangeInWords(place)}, those that wait longest first.${isHeld && html` <span class="dim">While the receiver fails, one at a time is tried.</span>`}</p><${Table} ...${{ events, topic, name, isWhole: !more && !after }} />`}
    <${NextPage} path=${['queues', topic, name, WAITING]} query=${chosen} next=${next} after=${after} place=${place} />
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
        <td class="what">${gapText(event.id) ?? html`<a data-row href=${link(pathOf(event))}>${event.text ?? `event …${event.id.slice(-8)}`}</a>`}</td>
        <td><${State} of=${event} /></td></tr>`,
    )}</tbody></table></div>`
}

function State({ of: event }) {
  const { attempt, error, nextAt, held } = event
  const failed =
    error !== undefined && `${attempt === undefined ? '' : `attempt ${ordinal(attempt)}: `}${error}`
  // The page says once that the others wait for the receiver.
  const next = nextAt !== undefined && held === undefined && nextInWords({ nextAt })
  return html`<${Badge} kind=${failed ? 'bad' : 'dim'}>${waitingState(event)}<//> ${failed && html`<span class="error">${failed}</span>`}${next && html`<span class="dim">, ${next}</span>`}`
}
