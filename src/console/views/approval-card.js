import { useState } from 'preact/hooks'
import { askerOf } from '../../lib/asker.ts'
import { useAnswers } from '../lib/answers-to.js'
import { isViewer } from '../lib/api.js'
import { Arguments, decide, Expiry, Quote, Ran, RunsWhen, Value } from '../lib/approval.js'
import { wentTo } from '../lib/approval-reason.js'
import { AskedToo, endOf, isIdentity } from '../lib/asked-too.js'
import { authorOf, requesterOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock, isNarrow } from '../lib/live.js'
import { Age, Badge, Moment } from '../lib/parts.js'
import { PauseList } from '../lib/pauses.js'
import { everywhere } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { Select } from '../lib/selection.js'
import { count } from '../lib/troubles.js'
import { KINDS } from './decided.js'
import { PERSON_HINT } from './message.js'

/**
 * A request as a card, which unfolds. `alike`: the requests for its skill. `askedToo`: the others
 * of the same person, see `askedTooIn`. `selection`: if it can be selected. `isAlone`: the page has its title and shows
 * nothing else.
 */
export function RequestCard({ request, alike, askedToo, about, reload, selection, isAlone = false }) {
  const { id, title, args, status, message } = request
  const [isOpen, setOpen] = useState(isAlone)
  const differing = differingOf(alike)
  // A short text that distinguishes it from similar requests.
  const own = alike.some((each) => each.id !== id && each.title === title) ? briefOf(args, differing) : ''
  const name = [title, own, requesterOf(request)].filter(Boolean).join(', ')
  const isShown = isOpen || !isCut(args)
  const decideIt = async (approve) => {
    if (await decide(request, approve, { own, isShown })) reload()
  }
  const isPending = status === 'pending'
  const buttons =
    isPending &&
    html`<div class="decide"><button changes type="button" class="primary" data-decide="approve" aria-label=${`Approve ${name}`} onClick=${() => decideIt(true)}>Approve …</button>
        <button changes type="button" class="danger" data-decide="deny" aria-label=${`Deny ${name}`} onClick=${() => decideIt(false)}>Deny …</button></div>`
  return html`<article class="card request" tabindex="-1" data-request=${id} data-key=${id} aria-labelledby=${isAlone ? 'title' : `request-${id}`}>
    <header class="card-head">${!isAlone && html`${selection && (isPending ? html`<${Select} of=${selection} id=${id} label=${`Select ${name}`} />` : html`<span class="select"></span>`)}<h2 id=${`request-${id}`}>${title} ${own && html`<span class="dim">${own}</span>`}</h2>`}${!isNarrow.value && buttons}</header>
    <${Asked} request=${request} open=${askedToo.open} earlier=${askedToo.earlier} />
    <${Quote} of=${message} isBrief=${!isOpen} />
    ${isOpen && html`<${Arguments} args=${args} differing=${differing} /><${Details} request=${request} about=${about} earlier=${askedToo.earlier} />`}
    <div class="request-foot">${!isOpen && html`<${FactsLine} args=${args} differing=${differing} title=${title} />`}
      ${isPending && html`<span class="dim"><${Expiry} of=${request} /></span>`}
      ${!isAlone && html`<button type="button" class="linkish" aria-expanded=${isOpen} aria-label=${`${isOpen ? 'Less' : 'More'} of ${name}`} onClick=${() => setOpen(!isOpen)}>${isOpen ? 'Less' : 'More'}</button>`}</div>
    <div role="status">${!isPending && html`<p class="ended"><${Decision} of=${request} /></p><${After} of=${request} />`}</div>
    ${isPending && request.pausedBy && html`<p class="after">Once approved: <${RunsWhen} pausedBy=${request.pausedBy} /></p><${PauseList} of=${request.pausedBy} />`}
    ${isNarrow.value && buttons}
  </article>`
}

/** Who asked, when and where, and what was decided for them earlier. */
function Asked({ request, open, earlier }) {
  const { by, roles = [], skill, message, requestedAt } = request
  const who = message?.sender ?? (isIdentity(by) ? by : undefined)
  const place =
    message &&
    html`<a href=${link(['conversations', message.gateway, message.conversation])}>the conversation</a> · <a href=${link(['messages', message.id])}>the message</a>${who && !isViewer.value && html` · <a href=${link('people', { who: everywhere(who) })} title=${PERSON_HINT}>the person</a>`}`
  const { name } = askerOf(request)
  return html`<p class="asked"><b title=${by}>${requesterOf(request)}</b>${name && html` <span class="dim wide">${authorOf(by)}</span>`}${roles.length > 0 && html` <span class="dim">(${roles.join(', ')})</span>`} <span class="dim">asked for <a href=${link(['skills', skill])}><code>${skill}</code></a> <${Age} at=${requestedAt} /> ago${message ? placeOf(request) : ', by a direct call'}</span>
    ${place && html`<span>${place}</span>`}
    <${AskedToo} of=${request} open=${open} earlier=${earlier} /></p>`
}

/** The gateway of a request, unless the identity beside a name has it, and its route. */
function placeOf(request) {
  const { message, route } = request
  return `${askerOf(request).name ? '' : `, ${message.gateway}`}${route ? `, route ${route}` : ''}`
}

/** Maximum number of facts in a folded card, and of characters of one. */
const MAX_FACTS = 8
const MAX_FACT = 100

const isMessage = (name, value) => name === 'message' && typeof Object(value).id === 'string'

function factOf(name, value) {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
  return isMessage(name, value) ? text.slice(0, MAX_FACT) : text
}

/** Whether a title contains a value as a word of its own. */
function isIn(title, text) {
  return text !== '' && ` ${title} `.includes(` ${text} `)
}

/** Whether a folded card leaves out a part of the arguments. */
function isCut(args) {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return true
  const facts = Object.entries(args).map(([name, value]) => factOf(name, value))
  return facts.length > MAX_FACTS || facts.some((text) => text.length > MAX_FACT)
}

/** The arguments in one line, those in `differing` marked, without those in the title. */
function FactsLine({ args, differing, title }) {
  const all = Object.entries(Object(args))
  if (all.length === 0) return html`<p class="dim">Without arguments.</p>`
  const entries = all.filter(([name, value]) => !isIn(title, factOf(name, value)))
  if (entries.length === 0) return null
  return html`<dl class="facts-line">${entries.slice(0, MAX_FACTS).map(([name, value]) => {
    const text = factOf(name, value)
    return html`<div key=${name} class=${differing.includes(name) ? 'differs' : ''}><dt>${name}</dt> <dd>${isMessage(name, value) ? html`<${Value} name=${name} value=${value} />` : text.slice(0, MAX_FACT)}${text.length > MAX_FACT && ' …'}</dd></div>`
  })}${entries.length > MAX_FACTS && html`<div><dt>and</dt> <dd>${count(entries.length - MAX_FACTS, 'more argument')}</dd></div>`}</dl>`
}

/** Maximum number of listed earlier decisions. */
const MAX_LISTED = 5

/** What a folded card leaves out, besides the arguments. */
function Details({ request: { skill, title }, about, earlier }) {
  return html`${about && !title.includes(about) && html`<p class="dim"><code>${skill}</code>: ${about}</p>`}
    ${
      earlier.length > 0 &&
      html`<h3>Earlier decisions</h3><ul class="plain">${earlier
        .slice(0, MAX_LISTED)
        .map(
          (each) =>
            html`<li key=${each.id}><span class="dim"><${Moment} at=${endOf(each)} /></span> <${Badge} kind=${KINDS[each.status]}>${each.status}<//> <a href=${link('approvals', { id: each.id })}>${each.title}</a></li>`,
        )}</ul>`
    }`
}

function Decision({ of: request }) {
  const { status, decidedBy, reason, decidedAt } = request
  return html`${status}${decidedBy && ` by ${authorOf(decidedBy)}`}${decidedAt && html`, <${Moment} at=${decidedAt} /> (<${Age} at=${decidedAt} /> ago)`}${reason && `: ${reason}`}${wentTo(request) && html` <span class="dim">(${wentTo(request)})</span>`}`
}

/**
 * How long (ms) after the decision an approved call without a recorded run counts as about to run.
 * Later, its run was not recorded.
 */
const RUN_EXPECTED_WITHIN = 600_000

/** What followed a decision: what the call waits for or how its run ended, and what the sender got. */
export function After({ of: request }) {
  const { status, pausedBy, run, message, decidedAt } = request
  const answered = useAnswers(request)
  const sent = new Set(answered.map(({ text }) => text))
  const answer = html`<${AnswersAfter} of=${answered} from=${message?.from} />`
  if (status !== 'approved') return answer
  if (pausedBy)
    return html`<p class="after"><${RunsWhen} pausedBy=${pausedBy} /></p><${PauseList} of=${pausedBy} />`
  if (run) return html`<${Ran} of=${run} sent=${sent} />${answer}`
  const isSoon = decidedAt === undefined || clock.value - decidedAt < RUN_EXPECTED_WITHIN
  return html`<p class="after dim">${isSoon ? 'It is about to run.' : 'How its run ended is not recorded here.'} ${message && html`<a href=${link(['messages', message.id])}>See the message</a>`}</p>`
}

/** The answers that the sender got after the decision. */
export function AnswersAfter({ of: answers, from }) {
  return answers.map(
    ({ at, state, text, error }) =>
      html`<div class="answered" key=${at}><p class="dim">${state === 'sent' ? html`${from || 'The sender'} was told, <${Moment} at=${at} />:` : html`<span class="error">${from || 'The sender'} was not told (${state}${error && `: ${error}`}):</span>`}</p><pre class="reply" tabindex="0" aria-label="Answer to the sender">${text ?? ''}</pre></div>`,
  )
}

/** The arguments in which requests for one skill differ; empty if they have nothing in common. */
function differingOf(alike) {
  const names = [...new Set(alike.flatMap(({ args }) => Object.keys(Object(args))))]
  const differing = names.filter(
    (name) => new Set(alike.map(({ args }) => JSON.stringify(Object(args)[name]))).size > 1,
  )
  return differing.length < names.length ? differing : []
}

/** The differing arguments in words, for a title. Leaves out long ones, such as texts. */
function briefOf(args, differing) {
  return differing
    .filter((name) => typeof Object(args)[name] !== 'object' && String(Object(args)[name]).length <= 40)
    .slice(0, 3)
    .map((name) => `${name} ${String(Object(args)[name] ?? 'not given').replaceAll(/\s+/g, ' ')}`)
    .join(', ')
}
