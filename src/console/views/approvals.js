import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { amountsIn, faultyComparisonIn } from '../../lib/amounts.ts'
import { call, invoke, isViewer } from '../lib/api.js'
import { askedTooIn, useAskedToo } from '../lib/asked-too.js'
import { useFirstRow } from '../lib/first-row.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { changes } from '../lib/live.js'
import { Empty, useLoaded, Wait } from '../lib/parts.js'
import { usePauses } from '../lib/pauses.js'
import { boundsIn, Range } from '../lib/range.js'
import { replace } from '../lib/router.js'
import { SearchField } from '../lib/search-field.js'
import { useSelection } from '../lib/selection.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { RequestCard } from './approval-card.js'
import { Decided, matcherOf } from './decided.js'
import { SelectedRequests } from './selected-requests.js'

/** Pending approvals, oldest first, or decided ones; or one, with `id` in the address. */
export function ApprovalsPage({ query }) {
  const { id } = query
  return id ? html`<${OnePage} key=${id} id=${id} />` : html`<${ListPage} query=${query} />`
}

function OnePage({ id }) {
  const loaded = useLoaded(
    (signal) => invoke('approval-list', { id }, signal),
    [id, changes.approvals.value, usePauses().value],
  )
  const { value, reload } = loaded
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="approvals" />
    <header class="bar"><h1 id="title">${value?.[0]?.title ?? 'Approval'}</h1></header>
    <${Wait} of=${loaded} what="the request" />
    ${value?.length === 0 && html`<${Empty} title="There is no such request, or it is no longer kept." />`}
    <div class="requests">${value?.map((each) => html`<${LoneCard} key=${each.id} request=${each} reload=${reload} />`)}</div>
  </section>`
}

function LoneCard({ request, reload }) {
  return html`<${RequestCard} request=${request} reload=${reload} alike=${[request]} askedToo=${useAskedToo(request)} isAlone />`
}

/** Which requests are listed: the value of `show` in the address, and its title. */
const SHOWN = [
  ['', 'Waiting'],
  ['decided', 'Decided'],
]

function ListPage({ query }) {
  const { show = '', search = '' } = query
  const set = (change) => replace('approvals', { ...query, ...change })
  const requests = useRequests()
  const decided = useDecided(show === 'decided' || search !== '', boundsIn(query))
  const matches = matcherOf(search)
  const amounts = amountNames(requests.value)
  const found = {
    '': requests.value?.filter(matches).toSorted(orderOf(query.sort)),
    decided: decided.value?.filter(matches),
  }
  const canSelect = show === '' && !isViewer.value
  const selection = useSelection(canSelect ? (found[''] ?? []).filter(isPending) : [], ({ id }) => id)
  useEffect(selection.clear, [show, search])
  const { box, toRows } = useFirstRow(found[show]?.length > 0)
  useKeys()
  return html`<section ref=${box} class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Approvals</h1>
      ${show === '' && found['']?.length > 0 && html`<p class="dim wide keys-hint"><kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> selects, <kbd>a</kbd> approves, <kbd>d</kbd> denies</p>`}
      <search class="filter"><${SearchField} label="Search in the requests" placeholder=${`Search: an order, a name, ${amounts.length > 0 ? `${amounts[0]}<50` : 'a skill'} …  /`} value=${search} set=${(words) => set({ search: words })} toRows=${toRows} /></search></header>
    <div class="bar inbox"><div class="segments" role="group" aria-label="Which">${SHOWN.map(
      ([value, title]) =>
        html`<button key=${value} type="button" aria-pressed=${show === value} onClick=${() => set({ show: value })}>${title}${countIn(found[value], value, search) > 0 && html` <span class="count">${countIn(found[value], value, search)}</span>`}</button>`,
    )}</div>${show === 'decided' ? html`<div class="filter"><${Range} query=${query} set=${set} /></div>` : html`<${Sort} names=${amounts} requests=${requests.value} value=${query.sort} set=${(sort) => set({ sort })} />`}</div>
    ${show === 'decided' ? html`<${Decided} key=${search} isFiltered=${search !== '' || Object.keys(boundsIn(query)).length > 0} loaded=${decided} requests=${found.decided ?? []} />` : html`<${Waiting} loaded=${requests} requests=${found[''] ?? []} search=${search} decided=${found.decided} set=${set} selection=${canSelect ? selection : undefined} />`}
    <${SelectedRequests} selection=${selection} done=${requests.reload} />
  </section>`
}

const isPending = ({ status }) => status === 'pending'

/** The arguments with amounts that differ between the requests. */
function amountNames(requests = []) {
  const values = new Map()
  for (const { args } of requests)
    for (const [name, { value }] of amountsIn(args))
      values.set(name, (values.get(name) ?? new Set()).add(value))
  return [...values].filter(([, { size }]) => size > 1).map(([name]) => name)
}

/** The order by the time at which the requests are decided automatically. */
const BY_END = ':end'

/**
 * The order of a list by `sort`: an argument with amounts, or with `-` before it the highest first;
 * or `BY_END`.
 */
function orderOf(sort = '') {
  if (sort === BY_END) return byEnd
  const isFalling = sort.startsWith('-')
  const name = isFalling ? sort.slice(1) : sort
  const amountOf = ({ args }) => amountsIn(args).get(name)?.value
  return (a, b) => {
    const [first, second] = [amountOf(a), amountOf(b)]
    if (first === undefined || second === undefined)
      return Number(first === undefined) - Number(second === undefined)
    return isFalling ? second - first : first - second
  }
}

const byEnd = (a, b) => a.expiresAt - b.expiresAt

/** Whether the requests end in another order than they came. */
function endInOtherOrder(requests = []) {
  return requests.some((each, at) => at > 0 && byEnd(requests[at - 1], each) > 0)
}

/** The choice of an order, if the requests have amounts, or end in another order than they came. */
function Sort({ names, requests, value = '', set }) {
  const orders = [
    ...(value === BY_END || endInOtherOrder(requests) ? [[BY_END, 'next deadline first']] : []),
    ...names.flatMap((name) => [
      [name, `${name}, lowest first`],
      [`-${name}`, `${name}, highest first`],
    ]),
  ]
  if (orders.length === 0) return null
  return html`<label class="order"><span class="wide">Order</span> <select aria-label="Order" value=${value} onChange=${(event) => set(event.target.value)}>
    <option value="">oldest first</option>${orders.map(([order, text]) => html`<option key=${order} value=${order}>${text}</option>`)}</select></label>`
}

/**
 * The number beside a tab. Waiting: without those that were decided while visible and stay in the
 * list. Decided: only with a search, as the number of matches.
 */
function countIn(requests = [], tab, search) {
  if (tab === '') return requests.filter(isPending).length
  return search === '' ? 0 : requests.length
}

function Waiting({ loaded, requests, search, decided = [], set, selection }) {
  const { value, reload } = loaded
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const { value: known = [] } = useDecided(value?.length > 0, {}, MAX_EARLIER)
  const isSearch = search !== ''
  const fault = faultyComparisonIn(search)
  return html`<${Wait} of=${loaded} what="the requests" />
    ${value?.length === 0 && !isSearch && html`<${Empty} title="Nothing waits for a decision."><code>approval: true</code> on a skill or a route asks for one.<//>`}
    ${value && isSearch && requests.length === 0 && html`<${Empty} title=${fault ? `“${fault.value}” in ${fault.word} is not an amount.` : 'No waiting request matches.'}>${decided.length > 0 && html`<button type="button" onClick=${() => set({ show: 'decided' })}>Show ${count(decided.length, 'decided one')}</button>`}<//>`}
    <div class="requests">${requests.map(
      (
        each,
      ) => html`<${RequestCard} key=${each.id} request=${each} reload=${reload} selection=${selection} askedToo=${askedTooIn(each, { pending: value, decided: known })} about=${skills.find(({ name }) => name === each.skill)?.description}
        alike=${value.filter(({ skill }) => skill === each.skill)} />`,
    )}</div>`
}

/** Maximum number of loaded requests: for the list of decisions, and for those of a card's person. */
const MAX_DECIDED = 1_000
const MAX_EARLIER = 200

/** The requests that no longer wait and ended within the bounds, loaded only if they are wanted. */
function useDecided(isWanted, { since, until }, limit = MAX_DECIDED) {
  return useLoaded(
    async (signal) => {
      if (!isWanted) return undefined
      return invoke('approval-list', { status: 'decided', ...boundsIn({ since, until }), limit }, signal)
    },
    [isWanted, since, until, changes.approvals.value],
  )
}

/** The waiting requests. One that ends while visible stays: nothing moves under the pointer. */
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

/**
 * `j` and `k` move between requests; `a` and `d` open the dialog for the selected ones, else for the
 * focused one, else for the first.
 */
function useKeys() {
  useLayoutEffect(() => {
    const all = () => [...document.querySelectorAll('[data-request]')]
    const move = (by) => {
      const cards = all()
      const at = cards.findIndex((card) => card.contains(document.activeElement))
      cards[at < 0 ? 0 : Math.min(Math.max(at + by, 0), cards.length - 1)]?.focus()
    }
    const press = (what) => () => {
      const together = document.querySelector(`[data-decide-all="${what}"]`)
      if (together) return together.click()
      const here = all().find((card) => card.contains(document.activeElement))
      const [first] = all().filter((card) => card.querySelector('[data-decide]'))
      const card = here ?? first
      card?.focus()
      card?.querySelector(`[data-decide="${what}"]`)?.click()
    }
    const ends = [
      onKey('j', 'next request', () => move(1)),
      onKey('k', 'previous request', () => move(-1)),
      onKey('a', 'approve …', press('approve')),
      onKey('d', 'deny …', press('deny')),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [])
}
