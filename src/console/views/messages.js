import { useEffect, useState } from 'preact/hooks'
import { failureOf } from '../../lib/failure-of.ts'
import { IN_PROGRESS, OUTCOME_FILTERS, outcomesNamed } from '../../lib/outcomes.ts'
import { invoke } from '../lib/api.js'
import { useAttempt } from '../lib/attempts.js'
import { causeOf } from '../lib/cause.js'
import { clockOf } from '../lib/clock-of.js'
import { ErrorHint } from '../lib/error-hint.js'
import { useFirstRow } from '../lib/first-row.js'
import { FoldButton } from '../lib/fold-button.js'
import { frozenLink } from '../lib/frozen-link.js'
import { Histogram } from '../lib/histogram.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { changes, clock, isNarrow, rowHeight } from '../lib/live.js'
import { Marked } from '../lib/marked.js'
import { timesIn, valueIn, withoutKey, withoutTimes } from '../lib/menu-value.js'
import { gatewayNames, MessageSearch } from '../lib/message-search.js'
import { retryEffect } from '../lib/next-attempt.js'
import { OtherMatches } from '../lib/other-matches.js'
import {
  Age,
  Copy,
  CopyLink,
  dateTime,
  Empty,
  fullTime,
  Gist,
  Loading,
  Outcome,
  Problem,
  span,
  took,
  useLoaded,
} from '../lib/parts.js'
import { cancelRun, retryNow } from '../lib/pause.js'
import { Range } from '../lib/range.js'
import { RetriedSince } from '../lib/retried-since.js'
import { retryLetters } from '../lib/retry.js'
import { retryNowAll } from '../lib/retry-now.js'
import { go, link, replace } from '../lib/router.js'
import { runAgain } from '../lib/run-again.js'
import { SavedViews } from '../lib/saved.js'
import { searchProblem } from '../lib/search-box.js'
import { Select, SelectionBar, useSelection } from '../lib/selection.js'
import { useMessages } from '../lib/tail.js'
import { count } from '../lib/troubles.js'
import { UnknownNames } from '../lib/unknown-names.js'
import { wantedIn } from '../lib/wanted.js'
import { WordsWithoutHit } from '../lib/words-without-hit.js'

/** Live tail, search and filter. The filter is in the address. */
export function MessagesPage({ query }) {
  const { focus, ...filter } = query
  const found = useMessages(filter)
  const set = (change) => replace('messages', { ...filter, ...change })
  const selection = useSelection(found.rows, keyOf)
  const filterKey = JSON.stringify(filter)
  useEffect(selection.clear, [filterKey])
  const { box: list, toRows } = useFirstRow(found.isOfFilter && found.rows.length > 0)
  const wanted = wantedIn(filter)
  const wrong = filter.search && searchProblem(found.error)
  const show = () => {
    list.current.querySelector('.list').scrollTop = 0
    found.showFresh()
  }
  return html`<section ref=${list} class=${`page messages ${filter.until ? 'is-past' : ''}`} aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Messages</h1>
      <p class="fresh">${found.fresh > 0 && html`<button type="button" class="pill" onClick=${show}>${found.fresh} new</button>`}</p>
      <${Filter} filter=${filter} set=${set} focus=${focus === 'search'} toRows=${toRows} />
    </header>
    <${ChosenFilters} filter=${filter} set=${set} />
    ${found.error && (wrong ? html`<p class="search-problem" role="alert">${wrong}</p>` : html`<${Problem} error=${{ message: `Could not load the messages. ${found.error.message}` }} retry=${found.more} />`)}
    ${!wrong && html`<${Histogram} filter=${filter} narrow=${(span) => go('messages', { ...filter, ...span })} />`}
    <${SavedViews} of="messages" query=${filter} />
    <${Causes} filter=${filter} />
    <${RetriedSince} filter=${filter} />
    ${found.rows.length === 0 && !found.isEnd && !found.error && html`<${Loading} />`}
    ${
      wrong
        ? html`<${Empty} title="This is not a search."><a href=${link('messages')}>Show all messages</a><//>`
        : found.rows.length > 0 || !found.isEnd
          ? html`<${Columns} isPast=${Boolean(filter.until)} /><${List} label="Messages" items=${found.rows} height=${rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} latestRows=${found.latestRows} onEnd=${found.more} isInUse=${found.isInUse} row=${(message) => html`<${Row} message=${message} selection=${selection} wanted=${wanted} isPast=${Boolean(filter.until)} />`} />`
          : html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No message has come in yet.'}>
          ${
            Object.keys(filter).length > 0
              ? html`<${UnknownNames} filter=${filter} linkTo=${(search) => link('messages', { ...filter, search })} /><${WordsWithoutHit} filter=${filter} /><${NumberHint} filter=${filter} /><${ErrorHint} filter=${filter} /><${OtherMatches} filter=${filter} /><a href=${link('messages')}>Show all messages</a>`
              : html`Send one: <code>npx trivium message cli hello</code>`
          }
        <//>`
    }
    <${Selected} selection=${selection} />
    <${ListFooter} found=${found} />
  </section>`
}

/** A search for a number finds no longer numbers that contain it, unless it is in quotes. */
function NumberHint({ filter }) {
  if (!/^\d+$/.test(filter.search ?? '')) return null
  const search = `"${filter.search}"`
  return html`In longer numbers: <a href=${link('messages', { ...filter, search })}>${search}</a>. `
}

/** How many messages are listed, how far back the search went, and what is missing. */
function ListFooter({ found: { rows, isEnd, searchedTo, missed, restart } }) {
  const listed = (rows.length > 0 || isEnd) && count(rows.length, 'message', isEnd ? '' : '+')
  const searched = searchedTo && !isEnd && html`, searched back to ${dateTime(searchedTo)}`
  const omitted =
    missed > 0 &&
    html`; ${missed.toLocaleString('en')} came in too fast to show: <button type="button" class="linkish" onClick=${restart}>show them</button>`
  return html`<footer class="under">${listed}${searched}${omitted}</footer>`
}

/**
 * The names of the columns, where there is room for all. Hidden from screen readers, which read
 * each row as a sentence.
 */
function Columns({ isPast }) {
  const names = [isPast ? 'time' : 'age', 'gateway', 'from', 'message', 'route', 'took']
  return html`<div class="list-head message-row with-run" aria-hidden="true">${names.map((name) => html`<span key=${name} class=${name === 'took' ? 'number' : ''}>${name}</span>`)}<span class="number">outcome</span></div>`
}

const keyOf = ({ id }) => id
const hrefOf = ({ id }) => link(['messages', id])

/** `isPast`: the list ends in the past, where all rows would have the same age. */
function Row({ message, selection, wanted, isPast }) {
  const { id, at, gateway, from, outcome } = message
  const attempt = useAttempt(message)
  // The text comes first: it distinguishes messages with the same cause, which is on its own line.
  const failure = failureOf(outcome, attempt)
  const cause = failure && html`<span class="error cause" title=${failure}>${causeOf(failure)}</span>`
  return html`<${Select} of=${selection} id=${id} label=${`Select message ${id}`} /><a class=${`message-row with-run ${cause ? 'has-cause' : ''}`} href=${hrefOf(message)}>
    ${isPast ? html`<time class="age" datetime=${new Date(at).toISOString()} title=${fullTime(at)}>${clockOf(at)}</time>` : html`<${Age} at=${at} />`}<span class="gateway">${gateway}</span>
    <span class="sender"><${Marked} text=${senderOf(from)} wanted=${wanted} /></span>
    <span class="text"><${WaitsFor} of=${attempt} outcome=${outcome} />${!failure && attempt?.attempts && html`<span class="tried">${attempt.attempts} attempts</span> `}<${Gist} of=${message} wanted=${wanted} />${outcome === 'done' && attempt?.unsent && html` <span class="dim" title=${attempt.unsent}>reply not sent</span>`}</span>${cause}
    <span class="route">${attempt?.route}</span>
    <span class="number run-time"><${RunTime} of=${attempt} outcome=${outcome} /></span>
    <span class="outcome-of"><${Answered} of=${attempt} message=${message} /><${Outcome} outcome=${outcome} /></span>
  </a>${outcome === 'running' && html`<button changes type="button" class="small take" tabindex="-1" onClick=${() => cancelRun(id)} aria-label=${`Cancel the attempt on ${id}`}>Cancel …</button>`}
  ${outcome === 'dead' && html`<button changes type="button" class="small take" tabindex="-1" onClick=${() => retryLetters([{ id, queue: 'dispatch' }])} aria-label=${`Retry ${id}`}>Retry</button>`}
  ${(outcome === 'retrying' || outcome === 'replying') && html`<button changes type="button" class="small take" tabindex="-1" onClick=${() => retryNow(id)} title=${retryEffect(attempt)} aria-label=${`Retry ${id} now`}>Retry now</button>`}`
}

/** What a message waits for, if it is not just its turn. */
function WaitsFor({ of: { pausedBy = [], budget } = {}, outcome }) {
  if (outcome !== 'waiting' && outcome !== 'retrying') return null
  if (pausedBy.length > 0)
    return html`<span class="held">paused: ${pausedBy.map(({ kind, name }) => (kind === 'conversation' ? 'a person has taken over' : `${kind} ${name}`)).join(', ')}</span> `
  return budget ? html`<span class="held" title=${budget}>waits for its budget</span> ` : null
}

/** Whether the sender of a handled message got an answer. Senders of webhooks expect none. */
function Answered({ of: attempt, message: { outcome, transport } }) {
  if (outcome !== 'done' || !attempt || attempt.unsent) return null
  if (attempt.answered) return html`<span class="dim">answered</span> `
  return transport !== 'webhook' && html`<span class="warn-text">no answer</span> `
}

/** How long the attempt ran, or how long it has been running, or when the next one begins. */
function RunTime({ of: attempt, outcome }) {
  if (!attempt) return null
  if (attempt.since !== undefined) return html`for <${Age} at=${attempt.since} />`
  if ((outcome === 'retrying' || outcome === 'replying') && attempt.nextAt > clock.value)
    return `again in ${span(attempt.nextAt - clock.value)}`
  return took(attempt.ms)
}

/** What can be done with the selected messages. */
function Selected({ selection }) {
  const { chosen } = selection
  const dead = chosen.filter(({ outcome }) => outcome === 'dead')
  const backingOff = chosen.filter(({ outcome }) => outcome === 'retrying' || outcome === 'replying')
  const ended = chosen.filter(({ outcome }) => ![...IN_PROGRESS, 'approval', 'dead'].includes(outcome))
  const retry = async () => {
    const letters = dead.map(({ id, subject, summary, text }) => ({
      id,
      queue: 'dispatch',
      text: subject ?? summary ?? text,
    }))
    if (await retryLetters(letters)) selection.clear()
  }
  const again = async () => {
    // The others stay selected, for another try.
    selection.drop(await runAgain(ended))
  }
  const now = async () => {
    if (
      await retryNowAll(
        count(backingOff.length, 'message'),
        backingOff.map(({ id }) => id),
      )
    )
      selection.clear()
  }
  return html`<${SelectionBar} of=${selection}>
    ${dead.length > 0 && html`<button changes type="button" class="primary" onClick=${retry}>Retry ${dead.length} failed${dead.length > 1 && ' …'}</button>`}
    ${backingOff.length > 0 && html`<button changes type="button" class="primary" onClick=${now}>Retry ${backingOff.length} now …</button>`}
    ${ended.length > 0 && html`<button changes type="button" onClick=${again}>Run ${ended.length} again …</button>`}
    ${dead.length + backingOff.length + ended.length === 0 && html`<span class="dim">They have not ended yet.</span>`}
    <${Copy} label="Copy ids" text=${() => chosen.map(({ id }) => id).join('\n')} />
  <//>`
}

/**
 * The causes of the failed messages, each leading to its dead letters. Only without further
 * filters: the counts include all dead letters of messages that arrived in the time range.
 */
function Causes({ filter: { outcome, search, since, until, ...others } }) {
  const wanted = outcome || valueIn(search, 'status')
  const isOnly = !Object.values(others).some(Boolean) && withoutKey(search, 'status') === ''
  const queues = isOnly ? queuesOf(wanted) : []
  const arrived = { ...(since && { arrivedSince: since }), ...(until && { arrivedUntil: until }) }
  const { value: groups } = useLoaded(
    async (signal) => {
      const found = queues.map((queue) => invoke('dead-letter-groups', { queue, ...arrived }, signal))
      return (await Promise.all(found)).flat()
    },
    [queues.join(), since, until, changes.dead.value],
  )
  if (queues.length === 0 || !groups?.length) return null
  return html`<ul class="causes" aria-label="Why they failed">${groups.map(
    ({ queue, group, code, pattern, common, count: many }) =>
      html`<li key=${`${group} ${code} ${pattern}`}><a class="chip" href=${link('dead-letters', { queue, group, code, pattern, ...arrived })}><b>${many.toLocaleString('en')}</b> ${group}: <span class="error">${causeOf(common)}</span></a></li>`,
  )}</ul>`
}

/** The queues with the dead letters of these outcomes; empty if an outcome has none. */
function queuesOf(words = '') {
  const outcomes = words.split(',').flatMap((word) => outcomesNamed(word.trim()))
  const queues = outcomes.map((outcome) => QUEUE_OF[outcome])
  return queues.every(Boolean) ? [...new Set(queues)] : []
}

const QUEUE_OF = { dead: 'dispatch', undelivered: 'outbox' }

export function senderOf(from = {}) {
  return from.name || from.address || from.id || ''
}

/** On a phone, the menus are collapsed. */
function Filter({ filter, set, focus, toRows }) {
  const [isOpen, setOpen] = useState(false)
  // The search may contain the same filters as the menus.
  const gateway = filter.gateway || valueIn(filter.search, 'gateway')
  const outcome = filter.outcome || valueIn(filter.search, 'status')
  const gateways = [...new Set([...gatewayNames(), gateway].filter(Boolean))]
  const pick = (name, key, label, value, options) => html`<label class="pick"><span>${label}</span>
    <select value=${value ?? ''} onChange=${(event) => set({ [name]: event.target.value, search: withoutKey(filter.search, key) })}>
      <option value="">any</option>${options.map((value) => html`<option key=${value} value=${value}>${value}</option>`)}
    </select></label>`
  const times = timesIn(filter.search)
  const outcomes = [...new Set([...OUTCOME_FILTERS, outcome].filter(Boolean))]
  const chosen = [gateway, outcome, filter.since ?? filter.until ?? times].filter(Boolean).length
  return html`<search class="filter">
    <${MessageSearch} value=${filter.search ?? ''} set=${(search) => set({ search })} focus=${focus} toRows=${toRows} />
    <${FoldButton} isOpen=${isOpen} chosen=${chosen} toggle=${() => setOpen(!isOpen)} />
    ${(isOpen || !isNarrow.value) && html`${pick('gateway', 'gateway', 'Gateway', gateway, gateways)}${pick('outcome', 'status', 'Outcome', outcome, outcomes)}<${Range} query=${filter} inSearch=${times} set=${(ends) => set({ ...ends, ...(times && { search: withoutTimes(filter.search) }) })} />`}
    ${Object.keys(filter).length > 0 && html`<a class="button" href=${link('messages')}>Clear</a>`}
    <${CopyLink} to=${() => frozenLink({ hasWords: true })} />
  </search>`
}

/** Filters in the address that the form does not show; each can be removed. */
function ChosenFilters({ filter, set }) {
  const chosen = ['route', 'text', 'sender', 'event', 'conversation', 'transport'].filter(
    (name) => filter[name],
  )
  if (chosen.length === 0) return null
  return html`<p class="given">${chosen.map(
    (name) =>
      html`<button key=${name} type="button" class="chip removable" title=${`Any ${name}`} onClick=${() => set({ [name]: '' })}><span>${name}: ${filter[name]}</span> ✕</button>`,
  )}</p>`
}
