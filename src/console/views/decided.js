import { useState } from 'preact/hooks'
import { comparisonIn } from '../../lib/amounts.ts'
import { foldText } from '../../lib/fold-text.ts'
import { useAnswers } from '../lib/answers-to.js'
import { RunsWhen } from '../lib/approval.js'
import { wentTo } from '../lib/approval-reason.js'
import { endOf } from '../lib/asked-too.js'
import { authorOf, requesterOf } from '../lib/authors.js'
import { causeOf } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { Badge, Empty, Moment, took, Wait } from '../lib/parts.js'
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
    ${
      sorted.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="Decided"><table class="decided">
      <thead><tr><th scope="col">time</th><th scope="col">decision</th><th scope="col">what</th><th scope="col">asked by</th><th scope="col">decided by</th><th scope="col">reason and result</th><th scope="col"><span class="unseen">audit</span></th></tr></thead>
      <tbody>${sorted.slice(0, shown).map((each) => html`<${DecidedRow} key=${each.id} of=${each} />`)}</tbody></table></div>`
    }
    ${sorted.length > shown && html`<p><button type="button" onClick=${() => setShown(shown + STEP)}>Show ${count(Math.min(STEP, sorted.length - shown), 'more decision')}</button></p>`}`
}

function DecidedRow({ of: each }) {
  const { id, title, by, skill, status, decidedBy, reason } = each
  return html`<tr><td class="at"><${Moment} at=${endOf(each)} /></td>
    <td><${Badge} kind=${KINDS[status]}>${status}<//></td>
    <td class="what"><a data-row href=${link('approvals', { id })}>${title}</a> <span class="dim">${skill}</span></td>
    <td class="person" data-label="asked by" title=${by}>${requesterOf(each)}</td>
    <td class="person" data-label="decided by">${decidedBy ? authorOf(decidedBy) : html`<span class="dim">nobody in time</span>`}</td>
    <td class="reason" data-label=${reason && 'reason'}>${reason}${reason && html` <span class="dim">${wentTo(each)}</span>`}<${Came} of=${each} /></td>
    <td><a href=${link('audit', { what: id })} aria-label=${`Audit entry of ${title}`}>audit</a></td></tr>`
}

/** What the sender was told, or else how the run of an approved call ended or what it waits for. */
export function Came({ of: request }) {
  const answer = useAnswers(request).at(-1)
  const { pausedBy, run } = request
  const isDue = pausedBy || run?.code
  if (!answer?.text) return html`<${RanShort} of=${request} />`
  const outcome =
    answer.state === 'sent'
      ? html`<p class="outcome-line" title=${answer.text}><span class="dim">was told:</span> ${answer.text}</p>`
      : html`<p class="outcome-line error" title=${answer.error}>was not told: ${answer.text}</p>`
  return html`${isDue && html`<${RanShort} of=${request} />`}${outcome}`
}

/** How the run of an approved call ended, or what it waits for, in a few words. */
function RanShort({ of: { pausedBy, run } }) {
  if (pausedBy) return html`<${RunsWhen} pausedBy=${pausedBy} />`
  if (!run) return null
  return run.code
    ? html`<p class="outcome-line error">failed: ${causeOf(run.error)}</p>`
    : html`<p class="outcome-line dim">ran in ${took(run.ms)}</p>`
}

/**
 * Makes a function that tests whether a request has all words in what a person reads of it. Words
 * such as `amount<50` compare an argument.
 */
export function matcherOf(search = '') {
  const given = search.split(/\s+/).filter(Boolean)
  const comparisons = given.flatMap((word) => comparisonIn(word) ?? [])
  const words = given.filter((word) => !comparisonIn(word)).map(foldText)
  return (request) => {
    const { id, title, skill, by, args, status, decidedBy = '', reason = '', message, run } = request
    const people = [authorOf(by), decidedBy && authorOf(decidedBy), message?.from, run?.result, run?.error]
    const text = foldText([id, title, skill, status, reason, ...people, JSON.stringify(args)].join('\n'))
    return words.every((word) => text.includes(word)) && comparisons.every((holds) => holds(args))
  }
}
