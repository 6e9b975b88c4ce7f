import { useState } from 'preact/hooks'
import { RunsWhen } from '../lib/approval.js'
import { authorOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { Age, Badge, Empty, Moment, took, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

export const KINDS = { pending: 'warn', approved: 'good', denied: 'bad', expired: 'dim' }

/** Decisions shown first, and added by *Show more*. */
const STEP = 50

/**
 * The decided and expired requests, newest first. `loaded`: all, from `useLoaded`; `requests`: the
 * matches. `isFiltered`: there may be others.
 */
export function Decided({ loaded, requests, isFiltered }) {
  const [shown, setShown] = useState(STEP)
  const sorted = requests.toSorted((a, b) => endOf(b) - endOf(a))
  return html`<${Wait} of=${loaded} what="the decisions" />
    ${loaded.value && sorted.length === 0 && html`<${Empty} title=${isFiltered ? 'No decision matches.' : 'No decisions.'}>${isFiltered ? html`<a href=${link('approvals', { show: 'decided' })}>Show all decisions</a>` : 'Decided and expired requests are listed here.'}<//>`}
    <ul class="plain decided" aria-label="Decided">${sorted.slice(0, shown).map((each) => html`<${DecidedRow} key=${each.id} of=${each} />`)}</ul>
    ${sorted.length > shown && html`<p><button type="button" onClick=${() => setShown(shown + STEP)}>Show ${count(Math.min(STEP, sorted.length - shown), 'more decision')}</button></p>`}`
}

function endOf({ decidedAt, expiresAt }) {
  return decidedAt ?? expiresAt
}

function DecidedRow({ of: each }) {
  const { id, title, by, skill, status, decidedBy, reason } = each
  return html`<li><${Moment} at=${endOf(each)} /> <span class="dim"><${Age} at=${endOf(each)} /> ago</span> <${Badge} kind=${KINDS[status]}>${status}<//>${' '}
    <a data-row href=${link('approvals', { id })}><b>${title}</b></a> <span class="dim">${skill} for ${authorOf(by)}${decidedBy && `, by ${authorOf(decidedBy)}`}${reason && `: ${reason}`}</span><${RanShort} of=${each} />${decidedBy && html` <a href=${link('audit', { what: id })} aria-label=${`Audit entry of ${title}`}>audit entry</a>`}</li>`
}

/** How the run of an approved call ended, or what it waits for, in a few words. */
function RanShort({ of: { pausedBy, run } }) {
  if (pausedBy) return html` <span class="dim">·</span> <${RunsWhen} pausedBy=${pausedBy} />`
  if (!run) return null
  return run.code
    ? html` <span class="error">· failed: ${causeOf(run.error)}</span>`
    : html` <span class="dim">· ran in ${took(run.ms)}</span>`
}

/** Makes a function that tests whether a request has all words in what a person reads of it. */
export function matcherOf(search = '') {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return (request) => {
    const { id, title, skill, by, args, status, decidedBy = '', reason = '', message, run } = request
    const people = [authorOf(by), decidedBy && authorOf(decidedBy), message?.from, run?.result, run?.error]
    const text = [id, title, skill, status, reason, ...people, JSON.stringify(args)].join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  }
}
