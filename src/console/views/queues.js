import { invoke, isViewer } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now, points } from '../lib/live.js'
import { Age, act, ask, Badge, Empty, Problem, StoreAway, took, useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Who reads events, to whom they are pushed, and which BullMQ queues routes hand to. */
export function QueuesPage() {
  const { groups = [], subscriptions = [], queues = [] } = now.value ?? {}
  const own = groups.filter(({ group }) => !subscriptions.some(({ name }) => name === group))
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Groups and queues</h1></header>
    <${StoreAway} />
    <h2>Consumer groups</h2>
    ${own.length === 0 ? html`<p class="dim">Nobody reads events as a group. <code>npx trivium event wait --topic gateway-message --queue mine</code> makes one.</p>` : html`<${Groups} groups=${own} />`}
    <h2>Push subscriptions</h2>
    ${subscriptions.length === 0 && html`<p class="dim">None; <code>subscriptions:</code> in routes.yaml pushes events to other programs.</p>`}
    <div class="cards broad">${subscriptions.map((each) => html`<${Subscription} key=${each.name} known=${each} />`)}</div>
    <h2>BullMQ queues</h2>
    ${queues.length === 0 ? html`<p class="dim">None; <code>queue:</code> on a route hands its messages to one.</p>` : html`<${Queues} queues=${queues} />`}
    ${now.value === undefined && html`<${Empty} title="…" />`}
  </section>`
}

function Groups({ groups }) {
  const seek = async ({ topic, group, lag }, to) => {
    const isYes = await ask(
      to === 'start'
        ? {
            title: `Have ${group} read ${topic} again from its start?`,
            body: 'Every event of the topic that is still kept goes to the group once more.',
            action: 'Read again',
          }
        : {
            title: `Skip what ${group} has not read of ${topic}?`,
            body: `${count(lag, 'event')} will never be read by it. Other groups keep theirs.`,
            action: `Skip ${count(lag, 'event')}`,
            danger: true,
          },
    )
    if (!isYes) return
    await act(async () => {
      await invoke('event-seek', { topic, queue: group, to })
      return to === 'start' ? `${group} reads ${topic} again.` : `${group} goes on with what comes now.`
    })
  }
  return html`<div class="cards">${groups.map(
    (
      each,
    ) => html`<article class="card" key=${`${each.topic}/${each.group}`} aria-label=${`Group ${each.group} of ${each.topic}`}>
      <header class="card-head"><h3>${each.group}</h3><${Badge} kind=${each.lag > 0 ? 'warn' : 'good'}>${each.lag > 0 ? 'behind' : 'up to date'}<//></header>
      <p class="dim">${each.topic}</p>
      <p class="figures">${count(each.lag, 'event')} behind, ${each.pending.toLocaleString('en')} being read</p>
      <div class="buttons">
        <button changes type="button" onClick=${() => seek(each, 'start')} aria-label=${`Read again ${each.topic} as ${each.group}`}>Read again …</button>
        <button changes type="button" class="danger" disabled=${each.lag === 0} onClick=${() => seek(each, 'now')} aria-label=${`Skip what ${each.group} has not read of ${each.topic}`}>Skip …</button>
      </div>
    </article>`,
  )}</div>`
}

const STATES = { active: 'good', failing: 'bad', disabled: 'bad', paused: 'warn' }
const SINCE = [
  ['15m', '15 minutes'],
  ['1h', 'the last hour'],
  ['6h', 'six hours'],
  ['24h', 'a day'],
  ['7d', 'a week'],
]

function Subscription({ known }) {
  const { name, topic, url, state, detail, waiting, dead } = known
  const { value, error, reload } = useLoaded(
    (signal) => invoke('subscription-show', { name }, signal),
    [name, state, dead, points.value],
  )
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
  const replay = () => {
    let since = '1h'
    const pick = html`<p>Each event goes to ${url} once more, with the id that it had.</p>
      <label>Since <select onChange=${(event) => {
        since = event.target.value
      }}>${SINCE.map(([value, shown]) => html`<option key=${value} value=${value} selected=${value === since}>${shown}</option>`)}</select></label>`
    return change(
      { skill: 'replay', args: () => ({ since }) },
      { title: `Replay events to ${name}?`, body: pick, action: 'Replay' },
      `What is retained goes to ${name} again.`,
    )
  }
  return html`<article class="card" aria-labelledby=${`push-${name}`}>
    <header class="card-head"><h3 id=${`push-${name}`}>${name}</h3><${Badge} kind=${STATES[state]}>${state}<//></header>
    <p class="dim">${topic} → ${url}</p>
    <p class="detail">${state === 'paused' ? `Paused ${detail}` : (detail ?? '')}</p>
    <p class="figures">${count(waiting, 'event')} waiting, ${dead > 0 ? html`<a href=${link('dead-letters', { queue: `push/${name}` })}>${count(dead, 'dead letter')}</a>` : 'none dead'}</p>
    <div class="buttons">
      ${
        state === 'active' || state === 'failing'
          ? html`<button changes type="button" onClick=${pause} aria-label=${`Pause ${name}`}>Pause …</button>`
          : html`<button changes type="button" class="primary" onClick=${resume} aria-label=${`Resume ${name}`}>Resume …</button>`
      }
      <button changes type="button" onClick=${replay} aria-label=${`Replay ${name}`}>Replay …</button>
    </div>
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    <${Attempts} of=${value?.attempts ?? []} />
  </article>`
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
