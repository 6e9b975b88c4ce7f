import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { isNarrow, now } from '../lib/live.js'
import { Age, Empty, Gist, Outcome, Problem } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'
import { useMessages } from '../lib/tail.js'
import { count } from '../lib/troubles.js'

const OUTCOMES = [
  'waiting',
  'running',
  'retrying',
  'approval',
  'done',
  'dead',
  'dropped',
  'merged',
  'unrouted',
  'bounced',
  'suppressed',
]
/** Ms after the last key until what is typed is searched. */
const SETTLE = 250

/** Live tail, search and filter; the address carries the filter. */
export function MessagesPage({ query }) {
  const { focus, ...filter } = query
  const found = useMessages(filter)
  const set = (change) => replace('messages', { ...filter, ...change })
  const list = useRef()
  const show = () => {
    list.current.querySelector('.list').scrollTop = 0
    found.takeIn()
  }
  return html`<section ref=${list} class="page messages" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Messages</h1>
      <p class="fresh">${found.fresh > 0 && html`<button type="button" class="pill" onClick=${show}>${found.fresh} new</button>`}</p>
      <${Filter} filter=${filter} set=${set} focus=${focus === 'search'} />
    </header>
    ${found.error && html`<${Problem} error=${found.error} retry=${found.more} />`}
    ${
      found.rows.length > 0 || !found.isEnd
        ? html`<${List} label="Messages" items=${found.rows} height=${isNarrow.value ? 62 : 44} keyOf=${keyOf} hrefOf=${hrefOf} later=${found.later} onEnd=${found.more} held=${found.held} row=${row} />`
        : html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No message has come in yet.'}>
          ${
            Object.keys(filter).length > 0
              ? html`<a href=${link('messages')}>Show all messages</a>`
              : html`Send one: <code>npx trivium message cli hello</code>`
          }
        <//>`
    }
    <footer class="under">${count(found.rows.length, 'message', found.isEnd ? '' : '+')}${found.searchedTo && !found.isEnd ? html`, searched back to ${new Date(found.searchedTo).toLocaleString()}` : ''}${found.missed > 0 && html`; ${found.missed.toLocaleString('en')} came in too fast to show: <button type="button" class="linkish" onClick=${found.anew}>show them</button>`}</footer>
  </section>`
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
  </a>`
}

export function senderOf(from = {}) {
  return from.name || from.address || from.id || ''
}

function Filter({ filter, set, focus }) {
  const [text, setText] = useState(filter.text ?? '')
  const input = useRef()
  // Where the address changes by what is typed here, more may be typed already.
  const typed = useRef(filter.text)
  useEffect(() => {
    if (filter.text !== typed.current) setText(filter.text ?? '')
    typed.current = filter.text
  }, [filter.text])
  useLayoutEffect(() => {
    if (focus) input.current.focus()
  }, [focus])
  useEffect(() => {
    if (text === (filter.text ?? '')) return
    const timer = setTimeout(() => {
      typed.current = text || undefined
      set({ text })
    }, SETTLE)
    return () => clearTimeout(timer)
  }, [text])
  const gateways = [
    ...new Set([...(now.value?.gateways ?? []).map(({ name }) => name), filter.gateway].filter(Boolean)),
  ]
  const pick = (name, label, options) => html`<label class="pick"><span>${label}</span>
    <select value=${filter[name] ?? ''} onChange=${(event) => set({ [name]: event.target.value })}>
      <option value="">any</option>${options.map(([value, shown]) => html`<option key=${value} value=${value}>${shown}</option>`)}
    </select></label>`
  const write = (name, label, placeholder) => html`<label class="pick"><span>${label}</span>
    <input value=${filter[name] ?? ''} placeholder=${placeholder} onChange=${(event) => set({ [name]: event.target.value.trim() })} /></label>`
  return html`<search class="filter">
    <input ref=${input} type="search" aria-label="Search in subject and text" placeholder="Search  /" value=${text}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => event.key === 'Escape' && event.target.blur()} />
    ${pick(
      'gateway',
      'Gateway',
      gateways.map((name) => [name, name]),
    )}
    ${pick(
      'outcome',
      'Outcome',
      OUTCOMES.map((name) => [name, name]),
    )}
    ${pick('since', 'Since', [
      ['15m', '15 minutes'],
      ['1h', '1 hour'],
      ['24h', '1 day'],
      ['7d', '7 days'],
    ])}
    ${write('sender', 'Sender', 'part of it')}
    ${write('event', 'Event', 'its name')}
    ${Object.keys(filter).length > 0 && html`<a class="button" href=${link('messages')}>Clear</a>`}
  </search>`
}
