import { useRef, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { changes, clock } from '../lib/live.js'
import { Age, act, ask, Badge, Empty, Json, Problem, span, useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

const KINDS = { pending: 'warn', approved: 'good', denied: 'bad', expired: 'dim' }

/** What waits for a decision, oldest first; below it what was decided. */
export function ApprovalsPage() {
  const { value, error, reload } = useRequests()
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Approvals</h1></header>
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${value?.length === 0 && html`<${Empty} title="Nothing waits for a decision."><code>approval: true</code> on a skill or a route asks for one.<//>`}
    <div class="requests">${value?.map(
      (
        each,
      ) => html`<${Request} key=${each.id} request=${each} reload=${reload} about=${skills.find(({ name }) => name === each.skill)?.description}
        alike=${value.filter(({ skill }) => skill === each.skill)} />`,
    )}</div>
    <${Decided} />
  </section>`
}

/** One that ends while it is shown keeps its place, so that none moves under the pointer of somebody who decides. */
function useRequests() {
  const kept = useRef(new Map())
  return useLoaded(
    async (signal) => {
      const pending = await invoke('approval-list', { status: 'pending', limit: 1_000 }, signal)
      const open = new Map(pending.map((each) => [each.id, each]))
      for (const [id, known] of kept.current) {
        if (known.status !== 'pending' || open.has(id)) continue
        const [ended] = await invoke('approval-list', { id }, signal)
        kept.current.set(id, ended ?? { ...known, status: 'expired' })
      }
      for (const [id, each] of open) kept.current.set(id, each)
      return [...kept.current.values()]
    },
    [changes.approvals.value],
  )
}

function Request({ request, alike, about, reload }) {
  const {
    id,
    skill,
    title,
    by,
    args,
    message,
    status,
    requestedAt,
    expiresAt,
    onTimeout,
    decidedBy,
    reason,
  } = request
  const decide = async (approve) => {
    const verb = approve ? 'Approve' : 'Deny'
    let why = ''
    const body = html`<p>${skill} for ${by}: ${approve ? 'it runs immediately, with these arguments.' : 'it does not run; the sender gets the reason.'}</p>
      <${Arguments} args=${args} differing=${differing} />
      <label>Why, for whoever asked <input onInput=${(event) => {
        why = event.target.value.trim()
      }} /></label>`
    if (!(await ask({ title: `${verb}: ${title}?`, body, action: `${verb} ${skill}`, danger: !approve })))
      return
    await act(async () => {
      await invoke('approval-decide', { id, approve, ...(why && { reason: why }) })
      return `${skill} for ${by} is ${approve ? 'approved' : 'denied'}.`
    })
    reload()
  }
  const differing = differingOf(alike)
  // What tells it from others like it, in a few words.
  const own = differing
    .map((name) => `${name} ${JSON.stringify(Object(args)[name]) ?? 'not given'}`.slice(0, 60))
    .join(', ')
  const place = alike.findIndex((each) => each.id === id)
  return html`<article class="card request" aria-labelledby=${`request-${id}`}>
    <header class="card-head"><h2 id=${`request-${id}`}>${title} <span class="dim">${own}</span></h2><${Badge} kind=${KINDS[status]}>${status}<//></header>
    <p><b>${by}</b> asks to run <a href=${link(['skills', skill])}><code>${skill}</code></a>${about && !title.includes(about) && html`<span class="dim"> ${about}</span>`}</p>
    <p class="dim"><${Age} at=${requestedAt} /> ago${status === 'pending' && html`, ${onTimeout === 'approve' ? 'approved' : 'denied'} by itself in ${span(Math.max(0, expiresAt - clock.value))}`}
      ${message && html` · <a href=${link(['messages', message.id])}>its message</a> on ${message.gateway}`}</p>
    <${Arguments} args=${args} differing=${differing} />
    ${alike.length > 1 && html`<p class="dim">${place + 1} of ${count(alike.length, 'request')} for ${skill}; what differs is marked.</p>`}
    ${
      status === 'pending'
        ? html`<div class="buttons"><button type="button" class="primary" aria-label=${`Approve ${[title, own, by].filter(Boolean).join(', ')}`} onClick=${() => decide(true)}>Approve …</button>
          <button type="button" class="danger" aria-label=${`Deny ${[title, own, by].filter(Boolean).join(', ')}`} onClick=${() => decide(false)}>Deny …</button></div>`
        : html`<p class="ended">${status}${decidedBy && ` by ${decidedBy}`}${reason && `: ${reason}`}</p>`
    }
  </article>`
}

/** The names of the arguments in which requests for one skill are not all the same. */
function differingOf(alike) {
  const names = new Set(alike.flatMap(({ args }) => Object.keys(Object(args))))
  return [...names].filter(
    (name) => new Set(alike.map(({ args }) => JSON.stringify(Object(args)[name]))).size > 1,
  )
}

/** All of them, whole, a line each. */
function Arguments({ args, differing }) {
  const entries =
    typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.entries(args) : undefined
  if (!entries) return html`<${Json} value=${args} label="Arguments" />`
  if (entries.length === 0) return html`<p class="dim">Without arguments.</p>`
  return html`<dl class="facts arguments">${entries.map(
    ([
      name,
      value,
    ]) => html`<div key=${name} class=${differing.includes(name) ? 'differs' : ''}><dt>${name}</dt>
      <dd>${typeof value === 'object' && value !== null ? html`<${Json} value=${value} label=${name} />` : String(value)}</dd></div>`,
  )}</dl>`
}

const SHOWN = 50

function Decided() {
  const [isOpen, setOpen] = useState(false)
  const { value, error } = useLoaded(
    async (signal) => (isOpen ? invoke('approval-list', { limit: 1_000 }, signal) : []),
    [isOpen, changes.approvals.value],
  )
  const ended = (value ?? [])
    .filter(({ status }) => status !== 'pending')
    .reverse()
    .slice(0, SHOWN)
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>Decided lately</summary>
    ${error && html`<${Problem} error=${error} />`}
    <ul class="plain">${ended.map(
      ({
        id,
        title,
        by,
        skill,
        status,
        decidedAt,
        decidedBy,
        reason,
        expiresAt,
      }) => html`<li key=${id}><${Age} at=${decidedAt ?? expiresAt} /> <${Badge} kind=${KINDS[status]}>${status}<//>
        <b>${title}</b> <span class="dim">${skill} for ${by}${decidedBy && `, by ${decidedBy}`}${reason && `: ${reason}`}</span></li>`,
    )}</ul></details>`
}
