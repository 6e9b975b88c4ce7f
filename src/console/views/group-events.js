import { useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Age, Badge, dateTime, Moment, preview, useLoaded, Wait } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { AttemptTable, MESSAGES } from './attempt-table.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000
/** Number of attempts that are shown at first. */
const SHOWN_AT_FIRST = 20
/** Maximum number of attempts that are shown. */
const MAX_ATTEMPTS = 300

/** The last attempts of a push, with the messages or events that they were about. */
export function Attempts({ push, query = {} }) {
  const { name, topic, state, dead } = push
  const { outcome = '', job = '', since = '', until = '' } = query
  const [limit, setLimit] = useState(SHOWN_AT_FIRST)
  const filter = Object.fromEntries(
    Object.entries({ outcome, job, since, until }).filter(([, value]) => value !== ''),
  )
  const loaded = useLoaded(
    (signal) => invoke('subscription-show', { name, limit, ...filter }, signal),
    [name, state, dead, outcome, job, since, until, limit, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { value, error } = loaded
  // The push was deleted; the page changes with the next status.
  if (error?.code === 'subscription_not_found') return null
  const { attempts = [], more } = value ?? {}
  const pick = (change) => replace(['queues', topic, name], { ...query, ...change })
  return html`<header class="bar"><h2>Last attempts</h2><div class="filter"><${ReplayPick} replays=${value?.replays} job=${job} set=${pick} /><label class="pick"><span>Outcome</span>
      <select value=${outcome} onChange=${({ target }) => pick({ outcome: target.value })}><option value="">any</option><option value="failed">failed</option><option value="open">failed, still open</option><option value="ok">accepted</option></select></label></div></header><${Wait} of=${loaded} what=${`the push ${name}`} />
    ${value && attempts.length === 0 && html`<p class="dim">${outcome + job + since + until === '' ? 'None yet.' : outcome === 'open' ? 'None: all these events have arrived.' : 'None of the kept ones.'}</p>`}
    ${attempts.length > 0 && html`<${AttemptTable} of=${attempts} topic=${topic} name=${name} push=${push} most=${value.policy.attempts} isWhole=${!more} />`}
    ${more && (limit < MAX_ATTEMPTS ? html`<p><button type="button" onClick=${() => setLimit(MAX_ATTEMPTS)}>Show up to ${MAX_ATTEMPTS}</button></p>` : html`<p class="dim">Only the newest ${MAX_ATTEMPTS} are shown.</p>`)}
    ${attempts.length > 0 && html`<${Kept} of=${value.kept} topic=${topic} />`}`
}

/** Selects the attempts of one replay, if some of the kept attempts belong to replays. */
function ReplayPick({ replays = [], job, set }) {
  if (replays.length === 0 && job === '') return null
  const isKnown = job === '' || replays.some((each) => each.job === job)
  return html`<label class="pick"><span>Replay</span>
    <select value=${job} onChange=${({ target }) => set({ job: target.value })}><option value="">any or none</option>${!isKnown && html`<option value=${job}>the chosen one</option>`}${replays.map((each) => html`<option key=${each.job} value=${each.job}>${dateTime(each.since)} (${count(each.count, 'attempt')})</option>`)}</select></label>`
}

/** How far back the kept attempts of a push go. */
function Kept({ of: { count: all, newest, since, failedSince }, topic }) {
  if (!all) return null
  const failed = all - newest
  const newestOnes =
    failed > 0 ? `the newest ${newest.toLocaleString('en')} attempts` : count(newest, 'attempt')
  return html`<p class="dim">Kept: ${newestOnes}, since <${Moment} at=${since} />${failed > 0 && html`, and ${count(failed, 'failed attempt')} before them, since <${Moment} at=${failedSince} />`}.${topic === MESSAGES && ' The page of a message has all attempts at it.'}</p>`
}

const PAGE = 10

/**
 * The newest events of a topic, with what is in them. `unreadFrom`: the first event that the group
 * has not read. `bounds`: the arguments `since` and `until`. Messages have a list of their own.
 */
export function NewestEvents({ topic, name, push, unreadFrom, bounds }) {
  const [limit, setLimit] = useState(PAGE)
  const isMessages = topic === MESSAGES
  const { since, until } = bounds
  const hasBounds = since !== undefined || until !== undefined
  const loaded = useLoaded(
    async (signal) => (isMessages ? undefined : invoke('event-list', { topic, limit, ...bounds }, signal)),
    [topic, limit, since, until, Math.floor(clock.value / POLL_INTERVAL)],
  )
  if (isMessages)
    return html`<p><a href=${link('messages', bounds)}>${hasBounds ? 'The messages of this time' : 'All messages'}</a> are the events of this topic.</p>`
  const { events, next } = loaded.value ?? {}
  const pathOf = ({ id }) => ['queues', topic, name, id]
  const keep = () =>
    keepTrail(
      events.map((event) => ({ href: link(pathOf(event)), key: event.id })),
      next === undefined,
    )
  return html`<h2>Newest events of ${topic}</h2><${Wait} of=${loaded} what=${`the events of ${topic}`} />
    ${events?.length === 0 && html`<p class="dim">${hasBounds ? 'No event of this time is retained.' : 'No event is retained.'}</p>`}
    ${events && html`<ul class="newest" onClickCapture=${keep} aria-label=${`Newest events of ${topic}`}>${events.map((event) => html`<${EventRow} key=${event.id} event=${event} path=${pathOf(event)} state=${stateOf(event, push, unreadFrom)} />`)}</ul>`}
    ${next !== undefined && html`<p><button type="button" onClick=${() => setLimit(Math.min(1_000, limit * 3))}>Show older ones</button></p>`}`
}

function EventRow({ event: { type, timestamp, data }, path, state }) {
  return html`<li><a data-row href=${link(path)}><${Age} at=${timestamp} /><span class="one-line"><b>${type}</b> <span class="dim">${preview(JSON.stringify(data) ?? '')}</span></span>${state ? html`<${Badge} kind=${state.kind}>${state.name}<//>` : html`<span></span>`}</a></li>`
}

/** What a push or a group has done with an event, as far as it is known. */
function stateOf({ id }, push, unreadFrom) {
  const last = push?.attempts?.find(({ event }) => event === id)
  if (last) return last.reason ? { kind: 'bad', name: 'failed' } : { kind: 'good', name: 'pushed' }
  // While events wait, the newest failed one blocks all later ones until it is delivered.
  const blocking = push?.waiting > 0 ? push.attempts?.find(({ reason }) => reason !== undefined) : undefined
  if (blocking && id > blocking.event) return { kind: 'warn', name: 'waiting' }
  return unreadFrom !== undefined && id >= unreadFrom ? { kind: 'warn', name: 'unread' } : undefined
}
