import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from '../lib/api.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { isNarrow, now } from '../lib/live.js'
import { Age, Empty, Outcome, Problem, preview } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'

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
const PAGE = 100
/** More than these are not kept in the page; what is older is found by a search. */
const MOST = 100_000
/** At the top of the tail no more than so many stay: a page that is open for a week stays small, and who scrolls gets the older ones again. */
const TAIL = { most: 2_000, kept: 1_000 }
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
    found.show()
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
        ? html`<${List} label="Messages" items=${found.rows} height=${isNarrow.value ? 62 : 44} keyOf=${keyOf} onEnd=${found.more} held=${found.held} row=${row} />`
        : html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No message has come in yet.'}>
          ${
            Object.keys(filter).length > 0
              ? html`<a href=${link('messages')}>Show all messages</a>`
              : html`Send one: <code>npx trivium message cli hello</code>`
          }
        <//>`
    }
    <footer class="under">${found.rows.length.toLocaleString('en')}${found.isEnd ? '' : '+'} messages${found.searchedTo && !found.isEnd ? html`, searched back to ${new Date(found.searchedTo).toLocaleString()}` : ''}${found.missed > 0 && html`; ${found.missed.toLocaleString('en')} came in too fast to show: <button type="button" class="linkish" onClick=${found.anew}>show them</button>`}</footer>
  </section>`
}

const keyOf = ({ id }) => id

function row(message) {
  const { id, at, gateway, from, subject, text, event, outcome } = message
  return html`<a class="message-row" href=${link(['messages', id])}>
    <${Age} at=${at} /><span class="gateway">${gateway}</span>
    <span class="sender">${senderOf(from)}</span>
    <span class="text">${event && html`<span class="event">${event}</span>`}${subject && html`<b>${subject}</b> `}${preview(text)}</span>
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

/** The messages that a filter leaves, newest first, and what comes in: held back while somebody is at a row. */
function useMessages(filter) {
  const [state, setState] = useState(NOTHING)
  const kept = useRef()
  const held = useRef()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    setState(NOTHING)
    kept.current = createTail(filter, setState, () => held.current?.())
    return () => kept.current.close()
  }, [JSON.stringify(filter), turn])
  const more = useCallback(() => kept.current?.more(), [])
  return { ...state, more, held, show: () => kept.current.show(), anew: () => setTurn(turn + 1) }
}

const NOTHING = { rows: [], fresh: 0, isEnd: false }

/** `tell` gets what there is to show, a few times a second at most; what is new waits while `isHeld` says so. */
function createTail(filter, tell, isHeld) {
  const end = new AbortController()
  const byId = new Map()
  /** What came in and is not shown yet, oldest first. */
  let fresh = []
  let [rows, missed, isEnd, isBusy, isBare] = [[], 0, false, false, false]
  /** What became of messages while pages are on their way, which may have them as they were. */
  const outcomes = new Map()
  let onTheirWay = 0
  let [next, searchedTo, error, due] = []

  const add = (messages) => {
    const added = messages.filter(({ id }) => !byId.has(id))
    for (const message of added) byId.set(message.id, message)
    return added
  }
  const search = async (query) => {
    onTheirWay++
    try {
      const page = await invoke('message-search', { ...query, limit: PAGE }, end.signal)
      for (const message of page.messages) message.outcome = outcomes.get(message.id) ?? message.outcome
      return page
    } finally {
      if (--onTheirWay === 0) outcomes.clear()
    }
  }
  const told = () => {
    due = undefined
    if (end.signal.aborted) return
    if (fresh.length > 0 && !isHeld()) takeIn()
    // A copy: what is drawn of the same array is not drawn again, and the outcomes in it change.
    tell({ rows: [...rows], fresh: fresh.length, missed, isEnd, error, searchedTo })
    if (fresh.length > 0) soon()
  }
  const soon = () => {
    due ??= setTimeout(told, 200)
  }
  const takeIn = () => {
    rows = [...fresh.reverse(), ...rows]
    fresh = []
    if (rows.length <= TAIL.most || isBusy) return
    for (const { id } of rows.splice(TAIL.kept)) byId.delete(id)
    next = rows.at(-1).id
    isEnd = false
  }
  const more = async () => {
    if (isBusy || isEnd || rows.length >= MOST) return
    isBusy = true
    error = undefined
    try {
      const page = await search({ ...filter, ...(next && { before: next }) })
      const added = add(page.messages)
      rows = [...rows, ...added]
      isBare = added.length === 0
      ;({ next, searchedTo } = page)
      isEnd = next === undefined
    } catch (failure) {
      error = failure
    }
    isBusy = false
    told()
    // A page may be short and not be the end: each looks only so far.
    if (!isEnd && !error && (isBare || rows.length < PAGE) && !end.signal.aborted) setTimeout(more)
  }
  /** What came in, and what became of the newest, while nothing was heard. */
  const lookAgain = async () => {
    const { outcome: wanted, ...any } = filter
    const page = await search(any).catch(() => undefined)
    // Ids sort as the journal does.
    const newest = fresh.at(-1)?.id ?? rows[0]?.id ?? ''
    for (const message of page?.messages.toReversed() ?? []) {
      const { id, outcome } = message
      if (byId.has(id)) byId.get(id).outcome = outcome
      else if (id > newest && (!wanted || wanted.split(',').includes(outcome))) fresh.push(...add([message]))
    }
    soon()
  }
  /** A stream tells of what comes in from its first `now` on. */
  let isCaughtUp = false
  const close = openStream(
    { ...filter, only: 'now,message,outcome' },
    {
      message(message) {
        fresh.push(...add([message]))
        if (fresh.length > MOST) for (const { id } of fresh.splice(0, MOST / 2)) byId.delete(id)
        soon()
      },
      known: () => rows[0]?.id,
      state(isLive) {
        if (isLive && error) more()
        isCaughtUp = false
      },
      now() {
        if (!isCaughtUp) lookAgain()
        isCaughtUp = true
      },
      refused(failure) {
        error = failure
        soon()
      },
      gap(gap) {
        missed += gap.missed
        lookAgain()
      },
      outcome({ id, outcome }) {
        const message = byId.get(id)
        if (message) message.outcome = outcome
        if (onTheirWay > 0) outcomes.set(id, outcome)
        soon()
      },
    },
  )
  more()
  return {
    more,
    show() {
      takeIn()
      told()
    },
    close() {
      end.abort()
      close()
      clearTimeout(due)
    },
  }
}
