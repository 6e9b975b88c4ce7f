import { useEffect, useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { now, points } from '../lib/live.js'
import { Age, act, ask, Badge, Loading, StoreAway, took, useLoaded, Wait } from '../lib/parts.js'
import { replayRange } from '../lib/replay.js'
import { link } from '../lib/router.js'
import { SubscriptionForm } from '../lib/subscription-form.js'
import { count } from '../lib/troubles.js'

/** Consumer groups, push subscriptions, and the BullMQ queues of routes. */
export function QueuesPage() {
  const { groups = [], subscriptions = [], queues = [] } = now.value ?? {}
  const own = groups.filter(({ group }) => !subscriptions.some(({ name }) => name === group))
  const [isMaking, setMaking] = useState(false)
  const { known, reload, loaded } = useGroups(groups.map(({ topic, group }) => `${topic}/${group}`).join())
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Groups and queues</h1></header>
    <${StoreAway} />
    <${Jobs} isSelected=${({ kind }) => kind === 'replay'} ended=${reload} />
    ${now.value === undefined ? html`<${Loading} />` : html`<${AllOf} ...${{ own, known, subscriptions, queues, isMaking, setMaking, loaded }} />`}
  </section>`
}

function AllOf({ own, known, subscriptions, queues, isMaking, setMaking, loaded }) {
  return html`
    <h2>Consumer groups</h2>
    ${loaded.error && html`<${Wait} of=${loaded} what="how the groups read" />`}
    ${own.length === 0 ? html`<p class="dim">Nobody reads events as a group. <code>npx trivium event wait --topic gateway-message --queue mine</code> makes one.</p>` : html`<${Groups} groups=${own} known=${known} />`}
    <h2>Push subscriptions</h2>
    <p><button changes type="button" onClick=${() => setMaking(true)}>New push subscription …</button></p>
    ${isMaking && html`<${SubscriptionForm} close=${() => setMaking(false)} />`}
    ${subscriptions.length === 0 && html`<p class="dim">None yet. A push subscription sends events to another program by HTTP.</p>`}
    <div class="cards broad">${subscriptions.map((each) => html`<${Subscription} key=${each.name} known=${each} group=${known.get(`${each.topic}/${each.name}`)} />`)}</div>
    <h2>BullMQ queues</h2>
    ${queues.length === 0 ? html`<p class="dim">None; <code>queue:</code> on a route hands its messages to one.</p>` : html`<${Queues} queues=${queues} />`}`
}

/** Polling interval of the readers, in ms. */
const AGAIN = 5_000

/** Data of `event-groups`, by topic and group: lag in time, rate, readers. */
function useGroups(names) {
  const loaded = useLoaded((signal) => invoke('event-groups', {}, signal), [names])
  const { value = [], reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), AGAIN)
    return () => clearInterval(timer)
  }, [])
  return { known: new Map(value.map((each) => [`${each.topic}/${each.group}`, each])), reload, loaded }
}

function Groups({ groups, known }) {
  const skip = async ({ topic, group, lag }) => {
    const isYes = await ask({
      title: `Skip what ${group} has not read of ${topic}?`,
      body: `${count(lag, 'event')} will never be read by it. Other groups keep theirs.`,
      action: `Skip ${count(lag, 'event')}`,
      danger: true,
    })
    if (!isYes) return
    await act(async () => {
      await invoke('event-seek', { topic, queue: group, to: 'now' })
      return `${group} goes on with what comes now.`
    })
  }
  return html`<div class="cards">${groups.map(
    (
      each,
    ) => html`<article class="card" key=${`${each.topic}/${each.group}`} aria-label=${`Group ${each.group} of ${each.topic}`}>
      <header class="card-head"><h3>${each.group}</h3><${Badge} kind=${each.lag > 0 ? 'warn' : 'good'}>${each.lag > 0 ? 'behind' : 'up to date'}<//></header>
      <p class="dim">${each.topic}</p>
      <p class="figures"><${Behind} lag=${each.lag} group=${known.get(`${each.topic}/${each.group}`)} />${each.pending > 0 && `, ${each.pending.toLocaleString('en')} handed out or to be read again`}</p>
      <${Readers} group=${known.get(`${each.topic}/${each.group}`)} />
      <div class="buttons">
        <button changes type="button" onClick=${() => replayGroup(each)} aria-label=${`Replay ${each.topic} to ${each.group}`}>Replay …</button>
        <button changes type="button" class="danger" disabled=${each.lag === 0} onClick=${() => skip(each)} aria-label=${`Skip what ${each.group} has not read of ${each.topic}`}>Skip …</button>
      </div>
    </article>`,
  )}</div>`
}

const STATES = { active: 'good', failing: 'bad', disabled: 'bad', paused: 'warn' }
function replayGroup({ topic, group }) {
  return replayRange({
    skill: 'event-replay',
    of: { topic, queue: group },
    title: `Replay events of ${topic} to ${group}?`,
    effect: 'The group gets what it has read in that time once more. Other groups do not.',
  })
}

/** The lag of a group, in events and in time. */
function Behind({ lag, group }) {
  if (lag === 0 && group?.oldestAt === undefined) return 'up to date'
  return html`${count(lag, 'event')} behind${group?.oldestAt !== undefined && html`, oldest <b><${Age} at=${group.oldestAt} /></b>`}`
}

const FEW_READERS = 3

/** The readers on this daemon, their start and rate. */
function Readers({ group }) {
  if (!group) return html`<p class="dim readers">…</p>`
  const { perMinute, waiting, readers, skill } = group
  return html`<div class="readers"><p>${perMinute.toLocaleString('en')} a minute${waiting > 0 && html` <span class="dim">${waiting} waiting now</span>`}</p>
    ${skill && html`<p>Runs the skill <a href=${link(['skills', skill.name])}>${skill.name}</a>${skill.since !== undefined && html` <span class="dim">for <${Age} at=${skill.since} /></span>`}</p>`}
    ${readers.slice(0, FEW_READERS).map(({ name, since, lastAt, events }) => html`<p key=${name}><b>${name}</b> <span class="dim">reads for <${Age} at=${since} />, last <${Age} at=${lastAt} /> ago, ${count(events, 'event')}</span></p>`)}
    ${readers.length > FEW_READERS && html`<p class="dim">and ${count(readers.length - FEW_READERS, 'other reader')}</p>`}
    ${readers.length === 0 && !skill && html`<p class="dim">Nobody has read here since this daemon started.</p>`}</div>`
}

function Subscription({ known, group }) {
  const { name, topic, url, state, detail, waiting, dead } = known
  const loaded = useLoaded(
    (signal) => invoke('subscription-show', { name }, signal),
    [name, state, dead, points.value],
  )
  const { value, error, reload } = loaded
  /** The settings when the dialog was opened; the page may show older ones. */
  const [settings, setSettings] = useState()
  const openForm = () =>
    act(async () => {
      const fresh = await invoke('subscription-show', { name })
      setSettings(fresh.settings)
    })
  const changed = () => {
    setSettings(undefined)
    reload()
  }
  const change = async (what, question, said) => {
    if (!(await ask(question))) return
    await act(async () => {
      await invoke(`subscription-${what.skill}`, { name, ...what.args?.() })
      return said
    })
    reload()
  }
  const pause = () =>
    change(
      { skill: 'pause' },
      {
        title: `Pause the push ${name}?`,
        body: `Nothing more goes to ${url}; events keep their places until you resume it.`,
        action: 'Pause',
      },
      `${name} is paused.`,
    )
  const resume = () =>
    change(
      { skill: 'resume' },
      {
        title: `Push to ${name} again?`,
        body: `${count(waiting, 'event')} that ${waiting === 1 ? 'waits' : 'wait'}, and what comes, go to ${url}.`,
        action: 'Resume',
      },
      `${name} is pushed to again.`,
    )
  const replay = () => replayPush(known).then(reload)
  // It was deleted; the card disappears with the next status.
  if (error?.code === 'subscription_not_found') return null
  return html`<article class="card" aria-labelledby=${`push-${name}`}>
    <header class="card-head"><h3 id=${`push-${name}`}>${name}</h3><${StateOf} state=${state} last=${value?.attempts[0]} /></header>
    <p class="dim">${topic} → ${url}</p>
    <p class="detail">${state === 'paused' ? `Paused ${detail}` : (detail ?? '')}</p>
    <${Waiting} of=${known} group=${group} />
    <div class="buttons">
      ${
        state === 'active' || state === 'failing'
          ? html`<button changes type="button" onClick=${pause} aria-label=${`Pause ${name}`}>Pause …</button>`
          : html`<button changes type="button" class="primary" onClick=${resume} aria-label=${`Resume ${name}`}>Resume …</button>`
      }
      <button changes type="button" onClick=${replay} aria-label=${`Replay ${name}`}>Replay …</button>
      ${
        value?.source === 'api' &&
        html`<button changes type="button" onClick=${openForm} aria-label=${`Change ${name}`}>Change …</button>
      <button changes type="button" class="danger" onClick=${() => remove(name, reload)} aria-label=${`Delete ${name}`}>Delete …</button>`
      }
    </div>
    ${value?.source === 'routes.yaml' && html`<p class="dim">Defined in routes.yaml.</p>`}
    ${settings && html`<${SubscriptionForm} name=${name} settings=${settings} close=${changed} />`}
    <${Wait} of=${loaded} what=${`the push ${name}`} />
    ${value && html`<${Attempts} of=${value.attempts} />`}
  </article>`
}

/** One that is active, but whose last attempt failed, is no good news. */
function StateOf({ state, last }) {
  if (state === 'active' && last?.reason) return html`<${Badge} kind="warn">retrying<//>`
  return html`<${Badge} kind=${STATES[state]}>${state}<//>`
}

function replayPush({ name, url }) {
  return replayRange({
    skill: 'subscription-replay',
    of: { name },
    title: `Replay events to ${name}?`,
    effect: `Each event goes to ${url} once more, with the id that it had.`,
  })
}

/** What a push has still to send, and could not send. */
function Waiting({ of: { name, waiting, queued = waiting, unread = 0, dead }, group }) {
  return html`<p class="figures">${count(queued, 'event')} queued, <span title="Events of the topic that this push has not looked at yet; those that it does not match go nowhere.">${unread.toLocaleString('en')} unread</span>${unread > 0 && group?.oldestAt !== undefined && html`, oldest <b><${Age} at=${group.oldestAt} /></b>`}, ${dead > 0 ? html`<a href=${link('dead-letters', { queue: `push/${name}` })}>${count(dead, 'dead letter')}</a>` : 'none dead'}</p>`
}

/** Deletes a subscription. First says what will be lost, and deletes only what the answer was about. */
async function remove(name, reload) {
  await act(async () => {
    const { waiting, dead } = await invoke('subscription-delete', { name, dryRun: true })
    const force = waiting + dead > 0
    const lost = [waiting > 0 && `${count(waiting, 'event')} waiting`, dead > 0 && count(dead, 'dead letter')]
    const body = force
      ? `Lost with it: ${lost.filter(Boolean).join(' and ')}. This cannot be undone.`
      : 'Nothing waits for it. This cannot be undone.'
    if (!(await ask({ title: `Delete the push ${name}?`, body, action: 'Delete', danger: true }))) return
    await invoke('subscription-delete', { name, ...(force && { force }) })
    reload()
    return `${name} is deleted.`
  })
}

const SHOWN = 5

function Attempts({ of }) {
  return html`<h4>Last attempts</h4><ol class="attempts">
    ${of.length === 0 && html`<li class="dim">none yet</li>`}
    ${of.slice(0, SHOWN).map(
      ({ at, status, reason, attempt, ms }, index) => html`<li key=${index}><${Age} at=${at} />
        <span class=${reason ? 'error' : ''}>${reason ?? `answered ${status}`}</span>
        <span class="dim">${attempt > 1 ? `attempt ${attempt}, ` : ''}${took(ms)}</span></li>`,
    )}</ol>`
}

function Queues({ queues }) {
  return html`<ul class="plain">${queues.map(
    ({ name, ok, detail }) =>
      html`<li key=${name}><b>${name}</b> <${Badge} kind=${ok ? 'good' : 'bad'}>${ok ? 'reachable' : 'away'}<//> <span class="dim">${detail}</span></li>`,
  )}</ul>
  ${!isViewer.value && html`<p><a class="button" href="/queues/">Open Bull Board</a></p>`}`
}
