import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { invoke, openStream } from '../lib/api.js'
import { html } from '../lib/html.js'
import { List } from '../lib/list.js'
import { now, rowHeight } from '../lib/live.js'
import {
  Age,
  act,
  CopyLink,
  Empty,
  Gist,
  Loading,
  Outcome,
  Problem,
  useLoaded,
  useOnce,
  Wait,
} from '../lib/parts.js'
import { Pause } from '../lib/pause.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { SearchBox, searchProblem } from '../lib/search-box.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { Chat } from './message.js'
import { senderOf } from './messages.js'

const PAGE = 50
/** Maximum number of shown messages per conversation. */
const MOST = 1_000
/** Delay (ms) before new messages are loaded, as several may arrive at once. */
const CALM = 400

/** All conversations, newest first, or one as a chat. */
export function ConversationsPage({ path: [gateway, conversation], query }) {
  if (conversation !== undefined)
    return html`<${Conversation} key=${`${gateway} ${conversation}`} gateway=${gateway} conversation=${conversation} />`
  return html`<${Conversations} filter=${query} />`
}

const keyOf = ({ gateway, conversation }) => `${gateway} ${conversation}`
const hrefOf = ({ gateway, conversation }) => link(['conversations', gateway, conversation])

function Conversations({ filter }) {
  const { pages, error, isEnd, more } = usePages(
    (before) => invoke('conversation-list', { ...filter, limit: PAGE, ...before }),
    JSON.stringify(filter),
  )
  const rows = [
    ...new Map(
      pages
        .flatMap((page) => page.conversations)
        .toReversed()
        .map((one) => [keyOf(one), one]),
    ).values(),
  ].reverse()
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const set = (change) => replace('conversations', { ...filter, ...change })
  return html`<section class="page fills" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Conversations</h1>
      <search class="filter">
        <${SearchBox} label="Search in what they wrote" value=${filter.search ?? filter.text ?? ''} set=${(search) => set({ search, text: '' })} />
        <label class="pick"><span>Gateway</span><select value=${filter.gateway ?? ''} onChange=${(event) => set({ gateway: event.target.value })}>
          <option value="">any</option>${gateways.map((name) => html`<option key=${name}>${name}</option>`)}
        </select></label>
        <${Range} query=${filter} set=${set} />
        <${CopyLink} />
      </search>
    </header>
    <${SavedViews} of="conversations" query=${filter} />
    ${error && (searchProblem(error) ? html`<p class="search-problem" role="alert">${searchProblem(error)}</p>` : html`<${Problem} error=${{ message: `Could not load the conversations. ${error.message}` }} retry=${more} />`)}
    ${rows.length === 0 && !isEnd && !error && html`<${Loading} />`}
    ${
      rows.length === 0 && isEnd
        ? html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'Nobody has written yet.'}><a href=${link('conversations')}>Show all</a><//>`
        : html`<${List} label="Conversations" items=${rows} height=${rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} onEnd=${more} row=${row} />`
    }
    <footer class="under">${(rows.length > 0 || isEnd) && count(rows.length, 'conversation', isEnd ? '' : '+')}</footer>
  </section>`
}

function row(conversation) {
  const { gateway, at, messages, from, outcome } = conversation
  return html`<a class="message-row talk" href=${hrefOf(conversation)}>
    <${Age} at=${at} /><span class="gateway">${gateway}</span><span class="sender">${senderOf(from)}</span>
    <${Gist} of=${{ ...conversation, event: undefined }} />
    <span class="many dim wide">${count(messages, 'message')}</span>
    <${Outcome} outcome=${outcome} />
  </a>`
}

/** Loads pages by `load({ before })` until one has no `next`; restarts when `of` changes. */
function usePages(load, of) {
  const [state, setState] = useState({ of, pages: [], isEnd: false })
  const latest = useRef()
  const more = useCallback(async () => {
    const mine = latest.current
    if (!mine || mine.isBusy || mine.isEnd) return
    mine.isBusy = true
    try {
      const page = await load(mine.next ? { before: mine.next } : {})
      Object.assign(mine, { next: page.next, isEnd: page.next === undefined })
      mine.pages.push(page)
      if (latest.current === mine) setState({ of, pages: [...mine.pages], isEnd: mine.isEnd })
    } catch (error) {
      if (latest.current === mine) setState((last) => ({ ...last, of, error }))
    }
    mine.isBusy = false
    // Also for each page, as a page may add no row.
  }, [of, state.pages.length])
  useEffect(() => {
    latest.current = { pages: [] }
    setState({ of, pages: [], isEnd: false })
    more()
  }, [of])
  return { ...state, more }
}

/** A conversation as a chat, with a field to answer. */
function Conversation({ gateway, conversation }) {
  const [limit, setLimit] = useState(PAGE)
  const loaded = useLoaded(
    (signal) => invoke('conversation-show', { gateway, conversation, limit }, signal),
    [limit],
  )
  const { value, reload } = loaded
  useEffect(() => {
    let timer
    const look = () => {
      timer = undefined
      reload()
    }
    const soon = () => {
      timer ??= setTimeout(look, CALM)
    }
    const close = openStream(
      { gateway, conversation, only: 'message,outcome' },
      { message: soon, outcome: soon, gap: soon, state: (isLive) => isLive && soon() },
    )
    return () => {
      close()
      clearTimeout(timer)
    }
  }, [])
  const entries = value?.entries ?? []
  const asked = entries.findLast(({ role }) => role === 'sender')
  return html`<section class="page conversation" aria-labelledby="title">
    <${Back} to="conversations" title="Conversations" />
    <header class="bar"><h1 id="title">${asked ? senderOf(asked.from) : conversation} <span class="dim">in ${gateway}</span></h1>
      <div class="buttons"><${Pause} of=${{ gateway, conversation }} kind="conversation" name=${conversation} words=${['Take over', 'Hand back']} />
      <a class="button" href=${link('messages', { gateway, conversation })}>Its messages</a></div></header>
    <${Wait} of=${loaded} what="the conversation" />
    ${value?.next && limit < MOST && html`<p><button type="button" onClick=${() => setLimit(Math.min(limit * 2, MOST))}>Show what was before</button></p>`}
    ${value && html`<${Chat} entries=${entries} />`}
    ${asked && html`<${Answer} asked=${asked} done=${reload} />`}
  </section>`
}

function Answer({ asked, done }) {
  const [text, setText] = useState('')
  const [isBusy, once] = useOnce()
  const send = async () => {
    const isSent = await act(async () => {
      await invoke('gateway-send', { messageId: asked.id, text })
      return `Your answer is on its way to ${senderOf(asked.from)}.`
    })
    if (!isSent) return
    setText('')
    done()
    // By then it was sent, or the reason for the delay is known.
    setTimeout(done, 1_000)
  }
  return html`<form class="answer" onSubmit=${(event) => {
    event.preventDefault()
    once(send)
  }}>
    <label>Answer ${senderOf(asked.from)} by hand<textarea rows="3" required value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <div class="buttons"><button changes class="primary" disabled=${isBusy}>Send the answer</button></div>
  </form>`
}
