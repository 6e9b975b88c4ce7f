import { useRef } from 'preact/hooks'
import { Histogram } from '../lib/histogram.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { now, rowHeight } from '../lib/live.js'
import { Age, CopyLink, Empty, Gist, Loading, Outcome, Problem } from '../lib/parts.js'
import { cancelRun } from '../lib/pause.js'
import { Range } from '../lib/range.js'
import { go, link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { SearchBox, searchProblem } from '../lib/search-box.js'
import { useMessages } from '../lib/tail.js'
import { count } from '../lib/troubles.js'

/** As OUTCOMES of src/core/message-query.ts. */
const OUTCOMES = [
  'waiting',
  'running',
  'retrying',
  'approval',
  'replying',
  'done',
  'dead',
  'dropped',
  'merged',
  'unrouted',
  'bounced',
  'suppressed',
]

/** Live tail, search and filter. The filter is in the address. */
export function MessagesPage({ query }) {
  const { focus, ...filter } = query
  const found = useMessages(filter)
  const set = (change) => replace('messages', { ...filter, ...change })
  const list = useRef()
  const wrong = filter.search && searchProblem(found.error)
  const show = () => {
    list.current.querySelector('.list').scrollTop = 0
    found.showFresh()
  }
  return html`<section ref=${list} class="page messages" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Messages</h1>
      <p class="fresh">${found.fresh > 0 && html`<button type="button" class="pill" onClick=${show}>${found.fresh} new</button>`}</p>
      <${Filter} filter=${filter} set=${set} focus=${focus === 'search'} />
    </header>
    <${ChosenFilters} filter=${filter} set=${set} />
    ${found.error && (wrong ? html`<p class="search-problem" role="alert">${wrong}</p>` : html`<${Problem} error=${{ message: `Could not load the messages. ${found.error.message}` }} retry=${found.more} />`)}
    <${Histogram} filter=${filter} narrow=${(span) => go('messages', { ...filter, ...span })} />
    <${SavedViews} of="messages" query=${filter} />
    ${found.rows.length === 0 && !found.isEnd && !found.error && html`<${Loading} />`}
    ${
      found.rows.length > 0 || !found.isEnd
        ? html`<${List} label="Messages" items=${found.rows} height=${rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} later=${found.later} onEnd=${found.more} isInUse=${found.isInUse} row=${row} />`
        : html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No message has come in yet.'}>
          ${
            Object.keys(filter).length > 0
              ? html`<a href=${link('messages')}>Show all messages</a>`
              : html`Send one: <code>npx trivium message cli hello</code>`
          }
        <//>`
    }
    <${Under} found=${found} />
  </section>`
}

/** How many messages are listed, how far back the search went, and what is missing. */
function Under({ found: { rows, isEnd, searchedTo, missed, restart } }) {
  const listed = (rows.length > 0 || isEnd) && count(rows.length, 'message', isEnd ? '' : '+')
  const searched = searchedTo && !isEnd && html`, searched back to ${new Date(searchedTo).toLocaleString()}`
  const omitted =
    missed > 0 &&
    html`; ${missed.toLocaleString('en')} came in too fast to show: <button type="button" class="linkish" onClick=${restart}>show them</button>`
  return html`<footer class="under">${listed}${searched}${omitted}</footer>`
}

const keyOf = ({ id }) => id
const hrefOf = ({ id }) => link(['messages', id])

function row(message) {
  const { at, gateway, from, outcome } = message
  return html`<a class="message-row" href=${hrefOf(message)}>
    <${Age} at=${at} /><span class="gateway">${gateway}</span>
    <span class="sender">${senderOf(from)}</span>
    <${Gist} of=${message} />
    <${Outcome} outcome=${outcome} />
  </a>${outcome === 'running' && html`<button changes type="button" class="small take" tabindex="-1" onClick=${() => cancelRun(message.id)} aria-label=${`Cancel the attempt on ${message.id}`}>Cancel …</button>`}`
}

export function senderOf(from = {}) {
  return from.name || from.address || from.id || ''
}

function Filter({ filter, set, focus }) {
  const gateways = [
    ...new Set([...(now.value?.gateways ?? []).map(({ name }) => name), filter.gateway].filter(Boolean)),
  ]
  const pick = (name, label, options) => html`<label class="pick"><span>${label}</span>
    <select value=${filter[name] ?? ''} onChange=${(event) => set({ [name]: event.target.value })}>
      <option value="">any</option>${options.map((value) => html`<option key=${value} value=${value}>${value}</option>`)}
    </select></label>`
  return html`<search class="filter">
    <${SearchBox} value=${filter.search ?? ''} set=${(search) => set({ search })} focus=${focus} />
    ${pick('gateway', 'Gateway', gateways)}
    ${pick('outcome', 'Outcome', [...new Set([...OUTCOMES, filter.outcome].filter(Boolean))])}
    <${Range} query=${filter} set=${set} />
    ${Object.keys(filter).length > 0 && html`<a class="button" href=${link('messages')}>Clear</a>`}
    <${CopyLink} />
  </search>`
}

/** Filters in the address that the form does not show; each can be removed. */
function ChosenFilters({ filter, set }) {
  const chosen = ['text', 'sender', 'event', 'conversation', 'transport'].filter((name) => filter[name])
  if (chosen.length === 0) return null
  return html`<p class="given">${chosen.map(
    (name) =>
      html`<button key=${name} type="button" class="chip" title=${`Any ${name}`} onClick=${() => set({ [name]: '' })}>${name}: ${filter[name]} ✕</button>`,
  )}</p>`
}
