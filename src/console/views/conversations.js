import { useEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { now, rowHeight } from '../lib/live.js'
import { Marked, wantedIn } from '../lib/marked.js'
import { gatewayNames, MessageSearch } from '../lib/message-search.js'
import { usePages } from '../lib/pages.js'
import { Age, Badge, CopyLink, Empty, Gist, Loading, Outcome, Problem, useLoaded } from '../lib/parts.js'
import { pauseWith } from '../lib/pause.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { searchProblem } from '../lib/search-box.js'
import { count } from '../lib/troubles.js'
import { unsentTo, useUnsent } from '../lib/unsent.js'
import { Conversation } from './conversation.js'
import { senderOf } from './messages.js'

const PAGE = 50
/** Maximum number of calls for the first unanswered conversations: the time of each is limited. */
const MAX_CALLS = 8
/** Minimum time (ms) between reloads while much happens. */
const RELOAD_INTERVAL = 2_000
/** Interval (ms) of attempts to reload while the pointer is on the list. */
const RETRY_INTERVAL = 500

/** All conversations, those that wait for an answer first, or one as a chat. */
export function ConversationsPage({ path: [gateway, conversation], query }) {
  if (conversation !== undefined)
    return html`<${Conversation} key=${`${gateway} ${conversation}`} gateway=${gateway} conversation=${conversation} />`
  return html`<${Conversations} query=${query} />`
}

const keyOf = ({ gateway, conversation }) => `${gateway} ${conversation}`
const hrefOf = ({ gateway, conversation }) => link(['conversations', gateway, conversation])

/** What `show` in the address means. */
const SHOWN = [
  ['', 'With people'],
  ['unanswered', 'Unanswered'],
  ['held', 'Taken over'],
  ['mine', 'Mine'],
  ['all', 'All'],
]

function Conversations({ query }) {
  const { show = '', ...filter } = query
  const of = JSON.stringify(filter)
  const wanted = wantedIn(filter)
  const { turn, isDue, held, reload } = useStale()
  const letters = useUnsent()
  const waiting = useLoaded(async (signal) => ({ of, rows: await unanswered(filter, signal) }), [of, turn])
  // Rows of the previous filter would be wrong here.
  const unansweredRows = waiting.value?.of === of ? waiting.value.rows : undefined
  const holds = useHolds(filter, turn)
  const mine = holds?.filter(({ heldBy }) => isOwn(heldBy?.by))
  // Most webhooks are sent by machines, which would hide the people. The daemon lists all
  // conversations if the filter names a gateway.
  const people = show === 'all' ? {} : { answerable: true }
  const { pages, error, isEnd, more } = usePages(
    (before) => invoke('conversation-list', { ...filter, ...people, limit: PAGE, ...before }),
    JSON.stringify({ ...filter, ...people }),
    turn,
  )
  const all = distinct([...(unansweredRows ?? []), ...pages.flatMap((page) => page.conversations)])
  const rows = { unanswered: unansweredRows ?? [], held: holds ?? [], mine: mine ?? [] }[show] ?? all
  const areHoldsKnown = holds !== undefined
  const isKnown =
    { unanswered: unansweredRows !== undefined, held: areHoldsKnown, mine: areHoldsKnown }[show] ?? isEnd
  const problem = { unanswered: waiting.error }[show] ?? error
  const set = (change) => replace('conversations', { ...query, ...change })
  const counts = { unanswered: unansweredRows?.length, held: holds?.length, mine: mine?.length }
  return html`<section class="page fills" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Conversations</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${reload}>Changed · refresh</button>`}</p>
      <${Filter} query=${query} set=${set} />
    </header>
    <div class="bar inbox"><div class="segments" role="group" aria-label="Which">${SHOWN.map(
      ([value, title]) =>
        html`<button key=${value} type="button" aria-pressed=${show === value} onClick=${() => set({ show: value })}>${title}${counts[value] > 0 && html` <span class="count">${counts[value] >= PAGE ? `${PAGE}+` : counts[value]}</span>`}</button>`,
    )}</div></div>
    <${SavedViews} of="conversations" query=${query} />
    ${problem && (searchProblem(problem) ? html`<p class="search-problem" role="alert">${searchProblem(problem)}</p>` : html`<${Problem} error=${{ message: `Could not load the conversations. ${problem.message}` }} retry=${problem === error ? more : waiting.reload} />`)}
    ${rows.length === 0 && !isKnown && !problem && html`<${Loading} />`}
    ${
      rows.length === 0 && isKnown
        ? html`<${None} show=${show} isFiltered=${Object.keys(filter).length > 0} />`
        : html`<${List} key=${show} label="Conversations" items=${rows} height=${rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} isInUse=${held} onEnd=${show === '' || show === 'all' ? more : undefined} row=${(one) => row(one, reload, wanted, unsentTo(one, letters))} />`
    }
    <footer class="under">${(rows.length > 0 || isKnown) && count(rows.length, 'conversation', isKnown ? '' : '+')}</footer>
  </section>`
}

function Filter({ query, set }) {
  const gateways = gatewayNames()
  return html`<search class="filter">
    <${MessageSearch} label="Search in what they wrote" value=${query.search ?? query.text ?? ''} set=${(search) => set({ search, text: '' })} />
    <label class="pick"><span>Gateway</span><select value=${query.gateway ?? ''} onChange=${(event) => set({ gateway: event.target.value })}>
      <option value="">any</option>${gateways.map((name) => html`<option key=${name}>${name}</option>`)}
    </select></label>
    <${Range} query=${query} set=${set} />
    <${CopyLink} />
  </search>`
}

function None({ show, isFiltered }) {
  const all = html`<a href=${link('conversations', { show: 'all' })}>Show all</a>`
  if (show === 'unanswered') return html`<${Empty} title="Nobody waits for an answer.">${all}<//>`
  if (show === 'mine')
    return html`<${Empty} title="You have not taken over a conversation.">With <b>Take over</b>, skills stop answering in it. ${all}<//>`
  if (show === 'held')
    return html`<${Empty} title="Nobody has taken over a conversation.">With <b>Take over</b>, skills stop answering in it. ${all}<//>`
  return html`<${Empty} title=${isFiltered ? 'Nothing matches.' : show === 'all' ? 'Nobody has written yet.' : 'No person has written yet.'}>${all}<//>`
}

/** The first row of each conversation. */
function distinct(rows) {
  const seen = new Set()
  return rows.filter((row) => {
    const isNew = !seen.has(keyOf(row))
    seen.add(keyOf(row))
    return isNew
  })
}

/**
 * The unanswered conversations, longest wait first. Each call continues where the last one ran out
 * of time.
 */
async function unanswered(filter, signal) {
  const found = []
  let before
  for (let call = 0; call < MAX_CALLS && found.length < PAGE; call++) {
    const page = await invoke(
      'conversation-list',
      { ...filter, unanswered: true, limit: PAGE, ...(before && { before }) },
      signal,
    )
    found.push(...page.conversations)
    before = page.next
    if (!before) break
  }
  return longestWaitFirst(distinct(found))
}

/** Who waits longest comes first, and those who do not wait last, newest first. */
function longestWaitFirst(rows) {
  const placeOf = ({ waitingSince, at }) => waitingSince ?? Number.MAX_SAFE_INTEGER - at
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/**
 * The conversations that people have taken over, as rows; undefined until they are known for this
 * filter.
 */
function useHolds(filter, turn) {
  const { value: pauses } = useLoaded(
    async (signal) => (await invoke('pause-list', {}, signal)).filter(({ kind }) => kind === 'conversation'),
    [
      turn,
      (now.value?.troubles ?? []).find(
        ({ code, where }) => code === 'paused' && where.reason === 'conversations',
      )?.count,
    ],
  )
  const of = JSON.stringify(filter)
  const { value: found } = useLoaded(
    async (signal) => {
      if (!pauses) return undefined
      const wanted = pauses.filter(
        ({ gateway }) => filter.gateway === undefined || filter.gateway === gateway,
      )
      const rows = wanted.slice(0, PAGE).map(async ({ gateway, name }) => {
        const args = { ...filter, gateway, conversation: name, limit: 1 }
        return (await invoke('conversation-list', args, signal)).conversations
      })
      return { of, rows: longestWaitFirst((await Promise.all(rows)).flat()) }
    },
    [pauses, of],
  )
  return found?.of === of ? found.rows : undefined
}

/** Reloads after messages and outcomes. While the list is in use, `isDue` offers it instead. */
function useStale() {
  const [turn, setTurn] = useState(0)
  const [isDue, setDue] = useState(false)
  const held = useRef(() => false)
  useEffect(() => {
    let timer
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setDue(true)
      }, RELOAD_INTERVAL)
    }
    const close = openStream(
      { only: 'message,outcome' },
      { message: soon, outcome: soon, gap: soon, state: (isLive) => isLive && soon() },
    )
    return () => {
      close()
      clearTimeout(timer)
    }
  }, [])
  const reload = () => {
    setDue(false)
    setTurn((last) => last + 1)
  }
  useEffect(() => {
    if (!isDue) return
    const look = () => document.hidden || held.current() || reload()
    look()
    const timer = setInterval(look, RETRY_INTERVAL)
    return () => clearInterval(timer)
  }, [isDue])
  return { turn, isDue, held, reload }
}

/** Outcomes that say why somebody waits. */
const WHY_WAITS = new Set(['approval', 'dead', 'retrying', 'replying', 'bounced'])

/** `unsent`: the dead letter of what was said last. */
function row(conversation, reload, wanted, unsent) {
  const { gateway, conversation: name, at, messages, from, waitingSince, heldBy } = conversation
  const takeOver = async () => {
    if (
      await pauseWith({
        kind: 'conversation',
        of: { gateway, conversation: name },
        name: senderOf(from),
        action: 'Take over',
      })
    )
      reload()
  }
  return html`<a class=${`message-row talk ${waitingSince === undefined ? '' : 'waits'}`} href=${hrefOf(conversation)}>
    <${Age} at=${at} /><span class="gateway">${gateway}</span><span class="sender"><${Marked} text=${senderOf(from)} wanted=${wanted} /></span>
    <${LastSaid} of=${unsent?.data?.text ? { ...conversation, reply: unsent.data } : conversation} wanted=${wanted} />
    <span class="many dim wide">${count(messages, 'message')}</span>
    <span class="turn"><${Turn} of=${conversation} unsent=${unsent} /></span>
  </a>${!heldBy && html`<button changes type="button" class="small take" tabindex="-1" onClick=${takeOver} aria-label=${`Take over ${senderOf(from)}`}>Take over …</button>`}`
}

/** The subject and what was said last, or what a search found. */
function LastSaid({ of: conversation, wanted }) {
  const { reply, subject, excerpt } = conversation
  if (!reply || excerpt) return html`<${Gist} of=${{ ...conversation, event: undefined }} wanted=${wanted} />`
  return html`<span class="text">${subject && html`<b><${Marked} text=${subject} wanted=${wanted} /></b> `}<span class="dim">${authorOf(reply.by) ?? 'answer'}:</span> <${Marked} text=${reply.text} wanted=${wanted} /></span>`
}

/**
 * Who has taken over and how long the sender waits, or the outcome of the newest message; first
 * whether the last reply was not delivered.
 */
function Turn({ of: { outcome, waitingSince, reply, heldBy }, unsent }) {
  const holder = heldBy && html`<${Badge} kind="busy">${authorOf(heldBy.by) ?? 'somebody'} has it<//>`
  const failed = unsent && html`<${Badge} kind="bad">not delivered<//>`
  if (waitingSince !== undefined)
    return html`${holder} ${failed ?? (WHY_WAITS.has(outcome) && html`<span class="why"><${Outcome} outcome=${outcome} /></span> `)} <${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`
  if (holder || failed) return html`${holder} ${failed}`
  return reply && outcome === 'unrouted'
    ? html`<${Badge} kind="good">answered<//>`
    : html`<${Outcome} outcome=${outcome} />`
}
