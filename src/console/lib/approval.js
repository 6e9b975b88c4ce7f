import { askerOf } from '../../lib/asker.ts'
import { invoke } from './api.js'
import { effectOfDenial, reasonLabel } from './approval-reason.js'
import { AskedToo, useAskedToo } from './asked-too.js'
import { authorOf, requesterOf } from './authors.js'
import { causeOf } from './cause.js'
import { html } from './html.js'
import { changes, clock, isNarrow } from './live.js'
import { Age, act, ask, elapsed, fullTime, Json, preview, took, useLoaded } from './parts.js'
import { PauseList, PauseNames } from './pauses.js'
import { link } from './router.js'

/** The remaining time (ms) below which an expiry is marked. */
const MARKED_TIME = 300_000

/** When a request expires, and its outcome then. */
export function Expiry({ of: { expiresAt, onTimeout } }) {
  const left = expiresAt - clock.value
  const what = onTimeout === 'approve' ? 'Approved' : 'Denied'
  return html`<span class=${left < MARKED_TIME ? 'soon' : ''} title=${fullTime(expiresAt)}>${what} automatically in <b class="left">${elapsed(Math.max(0, left))}</b></span>`
}

/** The requester and the context: their roles, the message, and the route. */
function Requester({ request }) {
  const { by, roles = [], skill, route, message, requestedAt } = request
  return html`<p><b title=${by}>${requesterOf(request)}</b>${askerOf(request).name && html` <span class="dim">${authorOf(by)}</span>`}${roles.length > 0 && html` <span class="dim">(${roles.join(', ')})</span>`} asks to run <a href=${link(['skills', skill])}><code>${skill}</code></a></p>
    <p class="dim">Asked <${Age} at=${requestedAt} /> ago${
      message
        ? html` by <a href=${link(['messages', message.id])}>a message</a> on ${message.gateway}${route && html`, route ${route}`}`
        : html` by a direct call`
    }</p>`
}

/** Maximum characters of a quoted message, of one that is shown in a few lines, and of one that scrolls. */
const MAX_QUOTED = 600
const MAX_BRIEF = 300
const MAX_WHOLE = 20_000

/**
 * The text of the message behind a request, to compare the request with it. `isBrief`: in two lines.
 * `isWhole`: the whole text, which scrolls, for a dialog that covers the page.
 */
export function Quote({ of: message, isBrief, isWhole }) {
  const { value } = useLoaded(
    async (signal) => (message ? invoke('message-show', { id: message.id }, signal).catch(() => ({})) : {}),
    [message?.id],
  )
  const { subject, text = '', from = {} } = value?.message ?? {}
  const words = [subject, preview(text)].filter(Boolean).join(isBrief ? ' · ' : '\n')
  if (!words) return null
  const max = isWhole ? MAX_WHOLE : isBrief ? MAX_BRIEF : MAX_QUOTED
  return html`<blockquote class=${`quote ${isBrief ? 'brief' : isWhole ? 'whole' : ''}`} tabindex=${isWhole ? 0 : undefined} aria-label="The message">${!isBrief && html`<p class="dim">${from.name ?? from.address ?? from.id ?? message.from} wrote</p>`}<p class="quoted">${words.slice(0, max)}${words.length > max && ' …'}</p></blockquote>`
}

/** How an approved run ended. `sent`: texts that are shown elsewhere. */
export function Ran({ of: { at, ms, result, error, code }, sent }) {
  if (code)
    return html`<p class="dim">Its run failed <${Age} at=${at} /> ago, after ${took(ms)}.</p><p class="error">${causeOf(error)}</p>`
  const isShown = result === undefined || (sent?.has(result) ?? false)
  return html`<p class="dim">It ran <${Age} at=${at} /> ago, in ${took(ms)}${result === undefined && ', without a result'}.</p>
    ${!isShown && html`<pre class="reply" tabindex="0" aria-label="Result">${result}</pre>`}`
}

/** What an approved call waits for, in a sentence. Nothing if it runs immediately. */
export function RunsWhen({ pausedBy = [] }) {
  if (pausedBy.length === 0) return null
  return html`It runs when <${PauseNames} of=${pausedBy} /> ${pausedBy.length === 1 ? 'is' : 'are'} resumed.`
}

/** All arguments in full, one per line. Names in `differing` are marked. */
export function Arguments({ args, differing = [] }) {
  const entries =
    typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.entries(args) : undefined
  if (!entries) return html`<${Json} value=${args} label="Arguments" />`
  if (entries.length === 0) return html`<p class="dim">Without arguments.</p>`
  return html`<dl class="facts arguments">${entries.map(
    ([
      name,
      value,
    ]) => html`<div key=${name} class=${differing.includes(name) ? 'differs' : ''}><dt>${name}</dt>
      <dd><${Value} name=${name} value=${value} /></dd></div>`,
  )}</dl>`
}

/** The message of a dispatched skill links to its page. */
export function Value({ name, value }) {
  if (typeof value !== 'object' || value === null) return String(value)
  if (name === 'message' && typeof value.id === 'string')
    return html`<a href=${link(['messages', value.id])}>${value.id}</a>`
  return html`<${Json} value=${value} label=${name} />`
}

/**
 * The dialog for a decision, used everywhere. Resolves with whether a decision was made. Enter in
 * the reason does not confirm: keys that were meant for the list must not decide. `isShown`: the
 * page shows the whole request and will show the decision. `own`: what distinguishes it from others.
 */
export async function decide(request, approve, { own = '', isShown = false } = {}) {
  const { id, title, skill, pausedBy = [] } = request
  const verb = approve ? 'Approve' : 'Deny'
  let reason = ''
  const body = html`<p class="effect">${effectOf(approve, request, isShown)}${!isShown && html` <${Expiry} of=${request} />.`}</p>
    ${approve && pausedBy.length > 0 && html`<${PauseList} of=${pausedBy} />`}
    ${isShown ? html`<${Asker} of=${request} />` : html`<${WholeRequest} of=${request} />`}
    <${AlsoAsked} of=${request} />
    <label>${reasonLabel(request, approve)} <input maxlength="500" autofocus=${!isNarrow.peek()} onInput=${(
      event,
    ) => {
      reason = event.target.value.trim()
    }} /></label>`
  const question = `${verb}: ${[title, own].filter(Boolean).join(', ')}?`
  if (!(await ask({ title: question, body, action: `${verb} ${skill}`, danger: !approve, needsCtrl: true })))
    return false
  return act(async () => {
    const decided = await invoke('approval-decide', { id, approve, ...(reason && { reason }) })
    if (isShown) return undefined
    const waits = decided.pausedBy?.map(({ kind, name }) => `${kind} ${name}`).join(' and ')
    return `${skill} for ${requesterOf(request)} is ${approve ? 'approved' : 'denied'}.${waits ? ` It runs when ${waits} ${decided.pausedBy.length === 1 ? 'is' : 'are'} resumed.` : ''}`
  })
}

/** The other requests of the person, as the dialog covers them. */
function AlsoAsked({ of: request }) {
  const { open, earlier } = useAskedToo(request)
  if (open.length + earlier.length === 0) return null
  return html`<p class="dim"><${AskedToo} of=${request} open=${open} earlier=${earlier} /></p>`
}

/** The person and their message, because the dialog covers them. */
function Asker({ of: request }) {
  const { name } = askerOf(request)
  return html`<p>For <b title=${request.by}>${requesterOf(request)}</b>${name && html` <span class="dim">${authorOf(request.by)}</span>`}</p>
    <${Quote} of=${request.message} isWhole />`
}

function WholeRequest({ of: request }) {
  return html`<${Requester} request=${request} />
    <${Quote} of=${request.message} isWhole />
    <${Arguments} args=${request.args} />`
}

function effectOf(approve, request, isShown) {
  const { pausedBy = [] } = request
  if (!approve) return effectOfDenial(request)
  if (pausedBy.length === 0) return `It runs immediately${isShown ? '' : ', with these arguments'}.`
  return html`<b>It does not run yet.</b> <${RunsWhen} pausedBy=${pausedBy} />`
}

/** The requests that wait for a decision, and `reload`. Nothing is read without `isNeeded`. */
export function usePending(isNeeded = true) {
  const { value = [], reload } = useLoaded(
    async (signal) => (isNeeded ? invoke('approval-list', { status: 'pending', limit: 1_000 }, signal) : []),
    [isNeeded, changes.approvals.value],
  )
  return { pending: value, reload }
}

/** Buttons for the requests that `isSelected` selects, on other pages than the list. */
export function DecideHere({ isSelected, done }) {
  const { pending, reload } = usePending()
  const decided = () => {
    reload()
    done?.()
  }
  return pending
    .filter(isSelected)
    .map((request) => html`<${DecideIt} key=${request.id} request=${request} done=${decided} />`)
}

/** The buttons for one request. `done` is called after a decision. */
export function DecideIt({ request, done }) {
  const decideIt = async (approve) => {
    if (await decide(request, approve)) done()
  }
  return html`<span class="decide-here"><button changes type="button" class="primary" aria-label=${`Approve ${request.title}`} onClick=${() => decideIt(true)}>Approve …</button>
      <button changes type="button" class="danger" aria-label=${`Deny ${request.title}`} onClick=${() => decideIt(false)}>Deny …</button></span>`
}
