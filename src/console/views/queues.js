import { useEffect, useState } from 'preact/hooks'
import { matchInWords } from '../../lib/match-words.ts'
import { noReaderText } from '../../lib/no-reader.ts'
import { worstPushFirst } from '../../lib/push-order.ts'
import { WAITING } from '../lib/address-keys.js'
import { invoke, isViewer } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { clockOf } from '../lib/clock-of.js'
import { pausePush, replayGroup, replayPush, resumePush, skipGroup } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { isBusy } from '../lib/job-words.js'
import { Jobs } from '../lib/jobs.js'
import { clock, now } from '../lib/live.js'
import { Age, Badge, elapsed, Loading, StoreAway, span, useLoaded, Wait } from '../lib/parts.js'
import { PauseFacts } from '../lib/pauses.js'
import { link } from '../lib/router.js'
import { SubscriptionForm } from '../lib/subscription-form.js'
import { count } from '../lib/troubles.js'
import { EventPage } from './event.js'
import { GroupPage } from './group.js'
import { UnreadPage } from './group-unread.js'
import { AttemptPage } from './push-attempt.js'
import { WaitingPage } from './push-waiting.js'

/**
 * Consumer groups, push subscriptions and the BullMQ queues of routes; or one group or
 * subscription, an event of it, an attempt to push it, or what a subscription will still send.
 */
export function QueuesPage({ path: [topic, name, event, at], query }) {
  if (at !== undefined)
    return html`<${AttemptPage} key=${`${event}/${at}`} topic=${topic} name=${name} event=${event} at=${Number(at)} />`
  if (event === WAITING) return html`<${Waiting} topic=${topic} name=${name} query=${query} />`
  if (event !== undefined) return html`<${EventPage} key=${event} topic=${topic} name=${name} id=${event} />`
  return name === undefined
    ? html`<${AllPage} />`
    : html`<${GroupPage} key=${`${topic}/${name}`} topic=${topic} name=${name} query=${query} />`
}

/** What a push will still send, or what a group has not read. */
function Waiting({ topic, name, query }) {
  if (now.value === undefined) return html`<${Loading} />`
  const isPush = now.value.subscriptions?.some((each) => each.name === name && each.topic === topic)
  const Page = isPush ? WaitingPage : UnreadPage
  return html`<${Page} key=${query.after} topic=${topic} name=${name} query=${query} />`
}

function AllPage() {
  const { groups = [], subscriptions = [], queues = [] } = now.value ?? {}
  const own = groups.filter(
    ({ topic, group }) => !subscriptions.some((each) => each.name === group && each.topic === topic),
  )
  const [isMaking, setMaking] = useState(false)
  const { known, reload, loaded } = useGroups(groups.map(({ topic, group }) => `${topic}/${group}`).join())
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Groups and queues</h1>
      <div class="buttons"><button changes type="button" onClick=${() => setMaking(true)}>New push subscription …</button></div></header>
    <${StoreAway} />
    <${Jobs} of=${{ kind: 'replay', state: 'running' }} ended=${reload} />
    ${now.value === undefined ? html`<${Loading} />` : html`<${AllOf} ...${{ own, known, subscriptions, queues, loaded }} />`}
    <${Jobs} of=${{ kind: 'replay' }} isSelected=${(job) => !isBusy(job)} ended=${reload} title="Ended replays" isFolded />
    ${isMaking && html`<${SubscriptionForm} close=${() => setMaking(false)} />`}
  </section>`
}

function AllOf({ own, known, subscriptions, queues, loaded }) {
  return html`
    <h2>Consumer groups</h2>
    ${loaded.error && html`<${Wait} of=${loaded} what="how the groups read" />`}
    ${own.length === 0 ? html`<p class="dim">Nobody reads events as a group. <code>npx trivium event wait --topic gateway-message --queue mine</code> makes one.</p>` : html`<${Groups} groups=${worstFirst(own, known)} known=${known} />`}
    <h2>Push subscriptions</h2>
    ${subscriptions.length === 0 ? html`<p class="dim">None yet. A push subscription sends events to another program by HTTP.</p>` : html`<${Pushes} of=${subscriptions} />`}
    <h2>BullMQ queues</h2>
    ${queues.length === 0 ? html`<p class="dim">None; <code>queue:</code> on a route hands its messages to one.</p>` : html`<${Queues} queues=${queues} />`}`
}

/** Polling interval of the readers, in ms. */
const POLL_INTERVAL = 5_000

/** Data of `event-groups`, by topic and group: lag in time, rate, readers. */
function useGroups(names) {
  const loaded = useLoaded((signal) => invoke('event-groups', {}, signal), [names])
  const { value = [], reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  return { known: new Map(value.map((each) => [`${each.topic}/${each.group}`, each])), reload, loaded }
}

function Table({ name, columns, children }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${name}><table class="group-table">
    <thead><tr>${columns.map(([title, isNumber]) => html`<th key=${title} scope="col" class=${isNumber ? 'number' : ''}>${title || html`<span class="unseen">actions</span>`}</th>`)}</tr></thead>
    <tbody>${children}</tbody></table></div>`
}

const GROUP_COLUMNS = [
  ['group'],
  ['state'],
  ['behind', true],
  ['longest wait', true],
  ['per minute', true],
  ['readers'],
  [''],
]

/** Stalled groups first, then those that are behind. */
function worstFirst(groups, known) {
  const rank = ({ topic, group, lag, again = 0 }) => {
    const of = known.get(`${topic}/${group}`)
    if (of?.state === 'stalled') return 0
    return of && lag + again > 0 && !isPrompt(of) ? 1 : 2
  }
  return groups.toSorted((a, b) => rank(a) - rank(b))
}

function Groups({ groups, known }) {
  return html`<${Table} name="Consumer groups" columns=${GROUP_COLUMNS}>${groups.map((each) => {
    const { topic, group, lag, pending, again = 0 } = each
    const behind = lag + again
    const found = known.get(`${topic}/${group}`)
    return html`<tr key=${`${topic}/${group}`} aria-label=${`Group ${group} of ${topic}`}>
      <td class="group-name"><a data-row href=${link(['queues', topic, group])}>${group}</a><span class="about">${topic}</span></td>
      <td><${GroupState} behind=${behind} of=${found} /></td>
      <td class="number" data-label="behind">${behind > 0 ? html`<a href=${link(['queues', topic, group, WAITING])}>${behind.toLocaleString('en')}</a>` : '0'}${again > 0 && html`<span class="about">${again.toLocaleString('en')} of these again</span>`}${pending > again && html`<span class="about">and ${(pending - again).toLocaleString('en')} being read</span>`}</td>
      <td class="number" data-label="longest wait">${found?.waitingSince !== undefined && html`<${Age} at=${found.waitingSince} />`}</td>
      <td class="number" data-label="per minute">${found ? found.perMinute.toLocaleString('en') : '…'}</td>
      <td><${ReadersInShort} of=${found} /></td>
      <td class="row-actions"><button changes type="button" class="small" onClick=${() => replayGroup(each)} aria-label=${`Replay ${topic} to ${group}`}>Replay …</button>
        <button changes type="button" class="small danger" disabled=${behind === 0} onClick=${() => skipGroup(each)} aria-label=${`Skip what ${group} has not read of ${topic}`}>Skip …</button></td>
    </tr>`
  })}<//>`
}

/** Unread events that have waited less (ms) are normal while a group reads. */
const PROMPT = 60_000

/** Whether a group reads events soon after they arrive. */
export function isPrompt({ state, waitingSince } = {}) {
  return state === 'reading' && (waitingSince === undefined || clock.value - waitingSince < PROMPT)
}

/** The state of a group: up to date, keeping up, behind, or without a reader. */
export function GroupState({ behind, of }) {
  const { state, perMinute = 0 } = of ?? {}
  if (behind === 0 && state !== 'stalled') return html`<${Badge} kind="good">up to date<//>`
  if (!of) return html`<span class="dim">…</span>`
  if (isPrompt(of))
    return html`<${Badge} kind="good" title="Events are read within a minute of their arrival">keeping up<//>`
  if (state === 'stalled')
    return html`<${Badge} kind="bad" title="Events are unread, and nobody has read any in the last five minutes">stalled<//>`
  const left = perMinute > 0 && behind > 0 ? `${span((behind / perMinute) * 60_000)} at this rate` : ''
  return html`<${Badge} kind="warn">behind<//>${left && html` <span class="dim">${left}</span>`}`
}

function ReadersInShort({ of }) {
  if (!of) return html`<span class="dim">…</span>`
  const { readers, waiting, skill } = of
  if (skill) return html`skill <a href=${link(['skills', skill.name])}>${skill.name}</a>`
  if (of.noReader) return html`<span class="warn-text"><${NoReader} of=${of.noReader} /></span>`
  const [latest, ...others] = readers
  if (!latest && of.lastRead)
    return html`<span class="dim">none; last was ${authorOf(of.lastRead.by)} <${Age} at=${of.lastRead.at} /> ago</span>`
  if (!latest) return html`<span class="dim">none since the daemon started</span>`
  return html`${authorOf(latest.name)}${others.length > 0 && html` <span class="dim">and ${others.length} more</span>`} <span class="dim">${waiting > 0 ? 'waiting now' : html`<${Age} at=${latest.lastAt} /> ago`}</span>`
}

/** The warning about a group without a reader: since when, and who the last one was. */
export function NoReader({ of: { since, by } }) {
  const time = since === undefined ? undefined : `${clockOf(since)} (${elapsed(clock.value - since)})`
  return noReaderText({ since: time, by: by && authorOf(by) })
}

const PUSH_COLUMNS = [
  ['subscription'],
  ['state'],
  ['to send', true],
  ['longest wait', true],
  ['dead', true],
  ['last attempt'],
  [''],
]

function Pushes({ of }) {
  return html`<${Table} name="Push subscriptions" columns=${PUSH_COLUMNS}>${worstPushFirst(of).map((each) => html`<${Push} key=${each.name} push=${each} />`)}<//>`
}

const STATES = { active: 'good', failing: 'bad', disabled: 'bad', paused: 'warn' }

/**
 * The state of a push. An active one whose last attempt failed is shown as retrying. `isExact`: says
 * of which attempts a share failed.
 */
export function PushState({ state, last, failingSince, errors, isExact = false }) {
  if (state === 'active' && errors)
    return html`<${Badge} kind="warn" title=${errors.reason}>fails ${errors.failed} of ${isExact && 'the last '}${errors.of}<//> <${Since} at=${errors.since} />`
  const since = failingSince !== undefined && html` <${Since} at=${failingSince} />`
  if (state === 'active' && last?.reason) return html`<${Badge} kind="warn">retrying<//>${since}`
  return html`<${Badge} kind=${STATES[state]}>${state}<//>${state === 'failing' && since}`
}

/** `for 2 h, since 13:06`. */
function Since({ at }) {
  return html`<span class="dim">for <${Age} at=${at} />, since ${clockOf(at)}</span>`
}

function Push({ push }) {
  const { name, topic, url, match, state, detail, queued, oldestAt, dead } = push
  const { value } = useLoaded(
    (signal) => invoke('subscription-show', { name }, signal).catch(() => ({})),
    [name, state, dead, queued, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const attempts = value?.attempts ?? []
  const [last] = attempts
  const isStopped = state !== 'active' && state !== 'failing'
  return html`<tr aria-label=${`Push ${name}`}>
    <td class="group-name"><a data-row href=${link(['queues', topic, name])}>${name}</a><span class="about">${topic} → ${url}</span>${match && html`<span class="about">only ${matchInWords(match)}</span>`}${isOfRule(topic) && html`<span class="about">notifications of a rule of <code>notify:</code></span>`}</td>
    <td><${PushState} state=${state} last=${last} failingSince=${push.failingSince} errors=${push.errors} />${state === 'paused' && html`<span class="dim">${push.paused ? html`<${PauseFacts} of=${push.paused} />` : ` ${detail}`}</span>`}</td>
    <td class="number" data-label="to send"><${ToSend} of=${push} /></td>
    <td class="number" data-label="longest wait">${oldestAt !== undefined && html`<${Age} at=${oldestAt} />`}</td>
    <td class="number" data-label="dead">${dead > 0 ? html`<a href=${link('dead-letters', { queue: `push/${name}` })}>${dead.toLocaleString('en')}</a>` : '0'}</td>
    <td class="last-attempt">${last ? html`<${Age} at=${last.at} /> <span class=${last.reason ? 'error' : 'dim'}>${last.reason ?? `answered ${last.status}`}</span><${FailedShare} of=${attempts} />` : html`<span class="dim">${value ? 'none yet' : '…'}</span>`}</td>
    <td class="row-actions"><button changes type="button" class="small" onClick=${() => replayPush(push)} aria-label=${`Replay ${name}`}>Replay …</button>
      ${
        isStopped
          ? html`${push.paused && html`<button changes type="button" class="small" onClick=${() => pausePush(push)} aria-label=${`Change the pause of push ${name}`}>Change …</button> `}<button changes type="button" class="small primary" onClick=${() => resumePush(push)} aria-label=${`Resume ${name}`}>Resume …</button>`
          : html`<button changes type="button" class="small" onClick=${() => pausePush(push)} aria-label=${`Pause ${name}`}>Pause …</button>`
      }</td>
  </tr>`
}

/**
 * The number of events that a push will still send, as a link to them; `70+` if there may be more; and
 * how many of them are new, if a replay sends the others again.
 */
export function ToSend({ of: { topic, name, waiting, replayed, more }, what = '' }) {
  const text =
    what === '' ? `${waiting.toLocaleString('en')}${more ? '+' : ''}` : count(waiting, what, more ? '+' : '')
  if (waiting === 0) return text
  const path = ['queues', topic, name, WAITING]
  return html`<a href=${link(path)}>${text}</a>${replayed > 0 && html`<span class="about"><a href=${link(path, { only: 'new' })}>${(waiting - replayed).toLocaleString('en')} new</a>, <a href=${link(path, { only: 'replayed' })}>${replayed.toLocaleString('en')} again</a></span>`}`
}

/** Whether a push belongs to a rule of `notify:`, whose names are generated. */
export function isOfRule(topic) {
  return topic.startsWith('trivium-operations/')
}

/** How many of the newest attempts failed, and the last success; nothing if none failed. */
function FailedShare({ of: attempts }) {
  const failed = attempts.filter(({ reason }) => reason !== undefined).length
  if (failed === 0) return null
  const success = attempts.find(({ reason }) => reason === undefined)
  if (!success)
    return html`<span class="about">${attempts.length === 1 ? 'The only attempt failed' : `All of the last ${attempts.length} failed`}</span>`
  return html`<span class="about">${failed} of the last ${attempts.length} failed; last success <${Age} at=${success.at} /> ago</span>`
}

function Queues({ queues }) {
  return html`<ul class="plain">${queues.map(
    ({ name, ok, detail }) =>
      html`<li key=${name}><b>${name}</b> <${Badge} kind=${ok ? 'good' : 'bad'}>${ok ? 'reachable' : 'away'}<//> <span class="dim">${detail}</span></li>`,
  )}</ul>
  ${!isViewer.value && html`<p><a class="button" href="/queues/">Open Bull Board</a></p>`}`
}
