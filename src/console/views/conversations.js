import { useEffect, useState } from 'preact/hooks'
import { isForPerson } from '../../lib/outcomes.ts'
import { partOf } from '../../lib/waiting-order.ts'
import { invoke } from '../lib/api.js'
import { authorOf, isOnCommandLine, isOwn } from '../lib/authors.js'
import { useFirstRow } from '../lib/first-row.js'
import { FoldButton } from '../lib/fold-button.js'
import { frozenLink } from '../lib/frozen-link.js'
import { html } from '../lib/html.js'
import { keyOf, longestWaitFirst, MAX_WAITING, partsOf, rowsOf, useInbox } from '../lib/inbox.js'
import { List } from '../lib/list.js'
import { isNarrow, now, rowHeight } from '../lib/live.js'
import { timesIn, valueIn, withoutKey, withoutTimes } from '../lib/menu-value.js'
import { gatewayNames, MessageSearch } from '../lib/message-search.js'
import { CopyLink, Empty, Loading, Problem, useLoaded } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { searchProblem } from '../lib/search-box.js'
import { useSelection } from '../lib/selection.js'
import { count } from '../lib/troubles.js'
import { UnknownNames } from '../lib/unknown-names.js'
import { wantedIn } from '../lib/wanted.js'
import { WordsWithoutHit } from '../lib/words-without-hit.js'
import { Conversation } from './conversation.js'
import { hrefOf, row } from './conversation-row.js'
import { SelectedConversations } from './selected-conversations.js'

/** Maximum number of conversations that people have taken over. */
const MAX_HELD = 50
/** The height of a row on a phone in px: the sender, the question and the answer. */
const TALL = 84

/** All conversations, those that wait for an answer first, for a person before others; or one as a chat. */
export function ConversationsPage({ path: [gateway, conversation], query }) {
  if (conversation !== undefined)
    return html`<${Conversation} key=${`${gateway} ${conversation}`} gateway=${gateway} conversation=${conversation} />`
  return html`<${Conversations} query=${query} />`
}

/** What `show` in the address means. */
const SHOWN = [
  ['', 'With people'],
  ['person', 'For a person'],
  ['unanswered', 'Unanswered'],
  ['undelivered', 'Not delivered'],
  ['held', 'Taken over'],
  ['mine', 'Mine'],
  ['all', 'All'],
]

function Conversations({ query }) {
  const { show = '', ...filter } = query
  const wanted = wantedIn(filter)
  // Most webhooks are sent by machines, which would hide the people. The daemon lists all
  // conversations if the filter names a gateway.
  const inbox = useInbox({ ...filter, ...(show !== 'all' && { answerable: true }) })
  const { shown, newest, isDue, turn, error } = inbox.state.value
  const holds = useHolds(filter, turn, show === 'held' || show === 'mine')
  const { rows, isWhole } = listOf(show, shown, holds)
  const set = (change) => replace('conversations', { ...query, ...change })
  const selection = useSelection(rows ?? [], keyOf)
  useEffect(selection.clear, [JSON.stringify(query)])
  const isLong = show === '' || show === 'all'
  const { box, toRows } = useFirstRow(rows?.length > 0)
  return html`<section ref=${box} class="page fills" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Conversations</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${inbox.apply}>Changed · refresh</button>`}</p>
      <${Filter} query=${query} set=${set} toRows=${toRows} />
    </header>
    <${Tabs} show=${show} set=${set} counts=${countsOf(newest, holds)}><${SavedViews} of="conversations" query=${query} /><//>
    ${error && (searchProblem(error) ? html`<p class="search-problem" role="alert">${searchProblem(error)}</p>` : html`<${Problem} error=${{ message: `Could not load the conversations. ${error.message}` }} retry=${inbox.load} />`)}
    ${rows === undefined && !error && html`<${Loading} />`}
    ${show === 'mine' && html`<${Elsewhere} holds=${holds} />`}
    ${
      rows?.length === 0 && isWhole
        ? html`<${None} show=${show} filter=${filter} />`
        : html`<${List} key=${show} label="Conversations" items=${rows ?? []} isWhole=${isWhole} height=${isNarrow.value ? TALL : rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} isInUse=${inbox.isUsed} onEnd=${isLong ? inbox.more : undefined} heads=${isLong || COUNTED.has(show) ? headsOf(shown, show) : undefined} partOf=${COUNTED.has(show) && !shown?.isCut ? partOf : undefined} row=${(one) => row(one, { reload: inbox.load, wanted, selection })} />`
    }
    <${SelectedConversations} selection=${selection} showsNewest=${showsNewest(filter)} done=${inbox.load} />
    <footer class="under">${rows && footerOf({ rows, isWhole, isLong })}</footer>
  </section>`
}

/** The filters that the newest message of a listed conversation always matches. */
const OF_NEWEST = new Set(['gateway', 'since'])
/** Whether the rows have the newest messages. Those of a search have the newest that match it. */
const showsNewest = (filter) => Object.keys(filter).every((key) => OF_NEWEST.has(key))

/** How many rows a list has, and whether it may have more. */
function footerOf({ rows, isWhole, isLong }) {
  if (isWhole) return count(rows.length, 'conversation')
  if (isLong) return 'Scroll for older ones.'
  return rows.length === 0 ? 'None among the newest messages.' : count(rows.length, 'conversation', '+')
}

/** The rows of a tab, undefined until they are known. `isWhole`: there are no others. */
function listOf(show, shown, holds) {
  if (show === 'held') return { rows: holds?.rows, isWhole: holds?.isCut === false }
  if (show === 'mine') return { rows: holds?.rows.filter(isMine), isWhole: holds?.isCut === false }
  if (!shown) return { isWhole: false }
  if (show === 'unanswered') return { rows: shown.waiting, isWhole: !shown.isCut }
  if (show === 'person') return { rows: partsForPerson(shown).flat(), isWhole: !shown.isCut }
  if (show === 'undelivered')
    return { rows: shown.waiting.filter(({ undelivered }) => undelivered), isWhole: !shown.isCut }
  return { rows: rowsOf(shown), isWhole: shown.next === undefined }
}

/** Those who wait for a person, and those whom somebody has taken over. */
function partsForPerson({ waiting }) {
  const { 'for a person': mine = [], 'taken over': held = [] } = partsOf(waiting)
  return [mine, held]
}

/** Lines above the parts of the list, by the index of their first row. */
function headsOf(shown, show) {
  if (!shown) return new Map()
  const { isCut } = shown
  const parts = show === 'person' ? partsForPerson(shown) : partsIn(shown)
  const last = parts.findLast(isFull)
  const heads = new Map()
  let at = 0
  for (const [index, rows] of parts.entries()) {
    const waiting = rows.filter(isWaiting).length
    const many = `${waiting.toLocaleString('en')}${isCut && rows === last ? '+' : ''}`
    const more = index === 2 && at > 0 ? 'more ' : ''
    // Rows keep their places while the list is in use, also those that have got their answer.
    const gone = rows.length > waiting ? ` · ${(rows.length - waiting).toLocaleString('en')} no longer` : ''
    if (isFull(rows)) heads.set(at, `${many} ${more}${TITLES[index]}${gone} · oldest first`)
    at += rows.length
  }
  if (heads.size > 0 && (show === '' || show === 'all'))
    heads.set(at, `${show === 'all' ? 'others' : 'answered or settled'} · newest first`)
  return heads
}

const TITLES = ['for a person', 'taken over', 'waiting']

/** The parts of a list that keeps its order while it is in use. */
function partsIn({ waiting, forPerson, takenOver }) {
  const end = forPerson + takenOver
  return [waiting.slice(0, forPerson), waiting.slice(forPerson, end), waiting.slice(end)]
}

const isFull = ({ length }) => length > 0
const isWaiting = ({ waitingSince }) => waitingSince !== undefined

/** The tabs whose parts are known completely, unless the list is cut. */
const COUNTED = new Set(['', 'person', 'unanswered', 'all'])

const isMine = ({ heldBy }) => isOwn(heldBy?.by)

/** The numbers beside the tabs. */
function countsOf(newest, holds) {
  const of = (rows, isCut) => rows?.length > 0 && `${rows.length}${isCut ? '+' : ''}`
  return {
    unanswered:
      newest?.waiting.length >= MAX_WAITING ? `${MAX_WAITING}+` : of(newest?.waiting, newest?.isCut),
    person: of(newest?.waiting.filter(isForPerson), newest?.isCut),
    undelivered: of(
      newest?.waiting.filter(({ undelivered }) => undelivered),
      newest?.isCut,
    ),
    held: of(holds?.rows, holds?.isCut),
    mine: of(holds?.rows.filter(isMine), holds?.isCut),
  }
}

function Tabs({ show, set, counts, children }) {
  return html`<div class="bar inbox"><div class="segments" role="group" aria-label="Which">${SHOWN.map(
    ([value, title]) =>
      html`<button key=${value} type="button" aria-pressed=${show === value} onClick=${() => set({ show: value })}>${title}${counts[value] && html` <span class="count">${counts[value]}</span>`}</button>`,
  )}</div>${children}</div>`
}

/** On a phone, gateway and time are folded. */
function Filter({ query, set, toRows }) {
  const { gateway = valueIn(query.search, 'gateway'), since, until } = query
  const chosen = [gateway, since ?? until ?? timesIn(query.search)].filter(Boolean).length
  const [isOpen, setOpen] = useState(chosen > 0)
  const isFolded = isNarrow.value && !isOpen
  return html`<search class="filter">
    <${MessageSearch} label="Search in what they wrote" value=${query.search ?? query.text ?? ''} set=${(search) => set({ search, text: '' })} toRows=${toRows} />
    <${FoldButton} isOpen=${isOpen} chosen=${chosen} toggle=${() => setOpen(!isOpen)} />
    ${!isFolded && html`<${Picks} query=${query} set=${set} />`}
    <${CopyLink} to=${() => frozenLink({ hasWords: true })} />
  </search>`
}

/** The search may have a gateway and times, too. */
function Picks({ query, set }) {
  const { search } = query
  const gateway = query.gateway || valueIn(search, 'gateway')
  const times = timesIn(search)
  const gateways = [...new Set([...gatewayNames(), gateway].filter(Boolean))]
  return html`<label class="pick"><span>Gateway</span><select value=${gateway ?? ''} onChange=${(event) => set({ gateway: event.target.value, search: withoutKey(search, 'gateway') })}>
      <option value="">any</option>${gateways.map((name) => html`<option key=${name}>${name}</option>`)}
    </select></label>
    <${Range} query=${query} inSearch=${times} set=${(ends) => set({ ...ends, ...(times && { search: withoutTimes(search) }) })} />`
}

/** Those taken over on the command line, which may be those of the person who is signed in. */
function Elsewhere({ holds }) {
  const others = holds?.rows.filter(({ heldBy }) => isOnCommandLine(heldBy?.by) && !isOwn(heldBy.by)) ?? []
  if (others.length === 0) return null
  const names = [...new Set(others.map(({ heldBy }) => authorOf(heldBy.by)))].join(', ')
  return html`<p class="dim">Not here, as the console does not know who it was: ${count(others.length, 'conversation')} taken over on the command line by ${names}. <a href=${link('conversations', { show: 'held' })}>Show all that are taken over</a></p>`
}

function None({ show, filter }) {
  const all = html`<a href=${link('conversations', { show: 'all' })}>Show all</a>`
  if (show === 'unanswered') return html`<${Empty} title="Nobody waits for an answer.">${all}<//>`
  if (show === 'person') return html`<${Empty} title="Nobody waits for an answer of a person.">${all}<//>`
  if (show === 'undelivered') return html`<${Empty} title="Every last answer was delivered.">${all}<//>`
  if (show === 'mine')
    return html`<${Empty} title="You have not taken over a conversation.">With <b>Take over</b>, skills stop answering in it. ${all}<//>`
  if (show === 'held')
    return html`<${Empty} title="Nobody has taken over a conversation.">With <b>Take over</b>, skills stop answering in it. ${all}<//>`
  const isFiltered = Object.keys(filter).length > 0
  return html`<${Empty} title=${isFiltered ? 'Nothing matches.' : show === 'all' ? 'Nobody has written yet.' : 'No person has written yet.'}><${UnknownNames} filter=${filter} linkTo=${(search) => link('conversations', { ...filter, search, show })} /><${WordsWithoutHit} filter=${filter} />${all}<//>`
}

/**
 * The conversations that people have taken over: `rows`, and whether these are all. Undefined until
 * they are known for this filter. The rows are read again if somebody takes over or hands back, and
 * while they are shown, for each `turn`.
 */
function useHolds(filter, turn, isShown) {
  const { value: pauses } = useLoaded(
    async (signal) => (await invoke('pause-list', {}, signal)).filter(({ kind }) => kind === 'conversation'),
    [
      turn,
      (now.value?.troubles ?? []).find(
        ({ code, where }) => code === 'paused' && where.reason === 'conversations',
      )?.count,
    ],
  )
  const wanted = pauses?.filter(({ gateway }) => filter.gateway === undefined || filter.gateway === gateway)
  const of = JSON.stringify(filter)
  const { value: found } = useLoaded(
    async (signal) => {
      if (!wanted) return undefined
      const rows = wanted.slice(0, MAX_HELD).map(async ({ gateway, name }) => {
        const args = { ...filter, gateway, conversation: name, limit: 1 }
        return (await invoke('conversation-list', args, signal)).conversations
      })
      return {
        of,
        rows: longestWaitFirst((await Promise.all(rows)).flat()),
        isCut: wanted.length > MAX_HELD,
      }
    },
    [isShown && turn, JSON.stringify(wanted?.map(({ gateway, name, by }) => [gateway, name, by])), of],
  )
  return found?.of === of ? found : undefined
}
