import { useEffect } from 'preact/hooks'
import { WAITING } from '../lib/address-keys.js'
import { invoke } from '../lib/api.js'
import { skipGroup } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Empty, fullTime, Moment, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back, keepTrail } from '../lib/trail.js'
import { MESSAGES } from './attempt-table.js'
import { NextPage, PAGE, rangeInWords } from './next-page.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000

/** The events that a group has not read, oldest first. From each, the group can skip the earlier ones. */
export function UnreadPage({ topic, name, query: { after, from = '0' } }) {
  const asked = { topic, queue: name, limit: PAGE, ...(after && { after }) }
  const loaded = useLoaded((signal) => invoke('event-unread', asked, signal), [topic, name, after])
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const { events = [], next } = value ?? {}
  const group = now.value?.groups?.find((each) => each.topic === topic && each.group === name)
  const { lag = 0, again = 0 } = group ?? {}
  const place = { first: Number(from), shown: events.length, all: lag + again, isWhole: next === undefined }
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['queues', topic, name]} title=${name} />
    <header class="bar"><h1 id="title">Not read <span class="dim">by ${name}</span></h1></header>
    <${Wait} of=${loaded} what="the events" />
    ${value && events.length === 0 && html`<${Empty} title=${after ? 'No later event is unread.' : `${name} has read everything.`} />`}
    ${events.length > 0 && html`<p>${rangeInWords(place)}, the oldest first.</p><${Table} ...${{ events, topic, name, isWhole: next === undefined && !after, reload }} />`}
    <${NextPage} path=${['queues', topic, name, WAITING]} next=${next} after=${after} place=${place} />
  </section>`
}

function Table({ events, topic, name, isWhole, reload }) {
  const pathOf = ({ id }) => (topic === MESSAGES ? ['messages', id] : ['queues', topic, name, id])
  const keep = () =>
    keepTrail(
      events.map((event) => ({ href: link(pathOf(event)), key: event.id })),
      isWhole,
    )
  return html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Unread events"><table class="attempt-table"><thead><tr><th scope="col">published</th><th scope="col">${topic === MESSAGES ? 'message' : 'event'}</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
    <tbody>${events.map((event) => {
      const { id, publishedAt, again, text = `event …${id.slice(-8)}` } = event
      const skip = () => skipGroup({ topic, group: name, here: { publishedAt, text } }).then(reload)
      return html`<tr key=${id}>
        <td class="whole-words"><${Moment} at=${publishedAt} />${again && html` <span class="dim" title=${`Waits since ${fullTime(event.since)}`}>delivered again</span>`}</td>
        <td class="what"><a data-row href=${link(pathOf(event))}>${text}</a></td>
        <td><button changes type="button" class="small" onClick=${skip} aria-label=${`Skip until here: ${text}`}>Skip until here …</button></td></tr>`
    })}</tbody></table></div>`
}
