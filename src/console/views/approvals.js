import { useEffect, useRef, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { Arguments, decide, Expiry, Quote, Ran, Requester, RunsWhen } from '../lib/approval.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { changes, clock } from '../lib/live.js'
import { Age, Badge, Empty, took, useLoaded, Wait } from '../lib/parts.js'
import { PauseList, usePauses } from '../lib/pauses.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'

const KINDS = { pending: 'warn', approved: 'good', denied: 'bad', expired: 'dim' }

/** Pending approvals, oldest first, then decided ones; or one, with `id` in the address. */
export function ApprovalsPage({ query: { id } }) {
  return id ? html`<${OnePage} key=${id} id=${id} />` : html`<${ListPage} />`
}

function OnePage({ id }) {
  const loaded = useLoaded(
    (signal) => invoke('approval-list', { id }, signal),
    [id, changes.approvals.value, usePauses().value],
  )
  const { value, reload } = loaded
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="approvals" />
    <header class="bar"><h1 id="title">Approval</h1></header>
    <${Wait} of=${loaded} what="the request" />
    ${value?.length === 0 && html`<${Empty} title="There is no such request, or it is no longer kept." />`}
    <div class="requests">${value?.map((each) => html`<${Request} key=${each.id} request=${each} reload=${reload} alike=${[each]} />`)}</div>
  </section>`
}

function ListPage() {
  const requests = useRequests()
  const { value, reload } = requests
  useKeys()
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Approvals</h1>
      ${value?.length > 0 && html`<p class="dim wide keys-hint"><kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approves, <kbd>d</kbd> denies</p>`}</header>
    <${Wait} of=${requests} what="the requests" />
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

/** A request that ends while visible keeps its place, so that nothing moves under the pointer. */
function useRequests() {
  const kept = useRef(new Map())
  const { value: pauses } = usePauses()
  const loaded = useLoaded(
    async (signal) => {
      const pending = await invoke('approval-list', { status: 'pending', limit: 1_000 }, signal)
      const pendingById = new Map(pending.map((each) => [each.id, each]))
      for (const [id, known] of kept.current) {
        if (pendingById.has(id) || hasEnded(known)) continue
        const [ended] = await invoke('approval-list', { id }, signal)
        kept.current.set(id, ended ?? { ...known, status: 'expired' })
      }
      for (const [id, each] of pendingById) kept.current.set(id, each)
      return [...kept.current.values()]
    },
    [changes.approvals.value, pauses],
  )
  const { value, reload } = loaded
  // An approved call is followed until its run has ended.
  const followsCall = value?.some((each) => each.status !== 'pending' && !hasEnded(each)) ?? false
  useEffect(() => {
    const timer = followsCall && setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [followsCall])
  return loaded
}

/** Interval (ms) of following an approved call. */
const POLL_INTERVAL = 3_000

/** Whether nothing more happens to a request. */
function hasEnded({ status, run }) {
  return status === 'denied' || status === 'expired' || (status === 'approved' && run !== undefined)
}

function Request({ request, alike, about, reload }) {
  const { id, skill, title, by, args, status } = request
  const differing = differingOf(alike)
  const asked = about && !title.includes(about) ? about : undefined
  const decideIt = async (approve) => {
    if (await decide(request, approve, { about: asked, differing })) reload()
  }
  // A short text that distinguishes it from similar requests.
  const own = alike.some((each) => each.id !== id && each.title === title) ? briefOf(args, differing) : ''
  const name = [title, own, authorOf(by)].filter(Boolean).join(', ')
  const place = alike.findIndex((each) => each.id === id)
  return html`<article class="card request" tabindex="-1" data-request=${id} aria-labelledby=${`request-${id}`}>
    <header class="card-head"><h2 id=${`request-${id}`}>${title} ${own && html`<span class="dim">${own}</span>`}</h2><${Badge} kind=${KINDS[status]}>${status}<//></header>
    <${Requester} request=${request} about=${asked} />
    <${Quote} of=${request.message} />
    <${Arguments} args=${args} differing=${differing} />
    ${alike.length > 1 && html`<p class="dim">${place + 1} of ${count(alike.length, 'request')} for ${skill}${differing.length > 0 && '; differences are marked'}.</p>`}
    ${
      status === 'pending'
        ? html`<div class="decide"><div class="buttons"><button changes type="button" class="primary" data-decide="approve" aria-label=${`Approve ${name}`} onClick=${() => decideIt(true)}>Approve …</button>
          <button changes type="button" class="danger" data-decide="deny" aria-label=${`Deny ${name}`} onClick=${() => decideIt(false)}>Deny …</button></div>
          <p class="dim"><${Expiry} of=${request} /></p></div>${request.pausedBy && html`<p class="after">Once approved: <${RunsWhen} pausedBy=${request.pausedBy} /></p><${PauseList} of=${request.pausedBy} />`}`
        : html`<p class="ended"><${Decision} of=${request} /></p><${After} of=${request} />`
    }
  </article>`
}

function Decision({ of: { status, decidedBy, reason, decidedAt } }) {
  return html`${status}${decidedBy && ` by ${authorOf(decidedBy)}`}${decidedAt && html` <${Age} at=${decidedAt} /> ago`}${reason && `: ${reason}`}`
}

/**
 * How long (ms) after the decision an approved call without a recorded run counts as about to run.
 * Later, its run was not recorded.
 */
const SOON = 600_000

/** What becomes of an approved call: what it waits for, or how its run ended. */
function After({ of: { status, pausedBy, run, message, decidedAt } }) {
  if (status !== 'approved') return null
  if (pausedBy)
    return html`<p class="after"><${RunsWhen} pausedBy=${pausedBy} /></p><${PauseList} of=${pausedBy} />`
  if (run) return html`<${Ran} of=${run} />`
  const isSoon = decidedAt === undefined || clock.value - decidedAt < SOON
  return html`<p class="after dim">${isSoon ? 'It is about to run.' : 'How its run ended is not recorded here.'} ${message && html`<a href=${link(['messages', message.id])}>See the message</a>`}</p>`
}

/** The arguments in which requests for one skill differ; empty if they have nothing in common. */
function differingOf(alike) {
  const names = [...new Set(alike.flatMap(({ args }) => Object.keys(Object(args))))]
  const differing = names.filter(
    (name) => new Set(alike.map(({ args }) => JSON.stringify(Object(args)[name]))).size > 1,
  )
  return differing.length < names.length ? differing : []
}

/**
 * The differing arguments in words, for a title. Long ones, such as texts of messages, are left
 * out.
 */
function briefOf(args, differing) {
  return differing
    .filter((name) => typeof Object(args)[name] !== 'object' && String(Object(args)[name]).length <= 40)
    .slice(0, 3)
    .map((name) => `${name} ${String(Object(args)[name] ?? 'not given').replaceAll(/\s+/g, ' ')}`)
    .join(', ')
}

/** `j` and `k` move between requests; `a` and `d` open the dialog for the focused one. */
function useKeys() {
  useEffect(() => {
    const all = () => [...document.querySelectorAll('[data-request]')]
    const move = (by) => {
      const cards = all()
      const at = cards.findIndex((card) => card.contains(document.activeElement))
      cards[at < 0 ? 0 : Math.min(Math.max(at + by, 0), cards.length - 1)]?.focus()
    }
    const press = (what) => () => {
      const here = all().find((card) => card.contains(document.activeElement))
      if (here) here.querySelector(`[data-decide="${what}"]`)?.click()
      else move(0)
    }
    const ends = [
      onKey('j', 'next request', () => move(1)),
      onKey('k', 'request before', () => move(-1)),
      onKey('a', 'approve …', press('approve')),
      onKey('d', 'deny …', press('deny')),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [])
}

const SHOWN = 50

function Decided() {
  const [isUnfolded, setUnfolded] = useState(false)
  const decided = useLoaded(
    async (signal) => (isUnfolded ? invoke('approval-list', { limit: 1_000 }, signal) : []),
    [isUnfolded, changes.approvals.value],
  )
  const endOf = ({ decidedAt, expiresAt }) => decidedAt ?? expiresAt
  const ended = (decided.value ?? [])
    .filter(({ status }) => status !== 'pending')
    .toSorted((a, b) => endOf(b) - endOf(a))
    .slice(0, SHOWN)
  return html`<details onToggle=${(event) => setUnfolded(event.target.open)}><summary>Decided lately</summary>
    ${isUnfolded && html`<${Wait} of=${decided} what="the decisions" />`}
    <ul class="plain decided">${ended.map((each) => {
      const { id, title, by, skill, status, decidedBy, reason } = each
      return html`<li key=${id}><${Age} at=${endOf(each)} /> <${Badge} kind=${KINDS[status]}>${status}<//>${' '}
        <a href=${link('approvals', { id })}><b>${title}</b></a> <span class="dim">${skill} for ${authorOf(by)}${decidedBy && `, by ${authorOf(decidedBy)}`}${reason && `: ${reason}`}</span><${RanShort} of=${each} /></li>`
    })}</ul></details>`
}

/** How the run of an approved call ended, or what it waits for, in a few words. */
function RanShort({ of: { pausedBy, run } }) {
  if (pausedBy) return html` <span class="dim">·</span> <${RunsWhen} pausedBy=${pausedBy} />`
  if (!run) return null
  return run.code
    ? html` <span class="error">· failed: ${causeOf(run.error)}</span>`
    : html` <span class="dim">· ran in ${took(run.ms)}</span>`
}
