import { useRef, useState } from 'preact/hooks'
import { hasWords, longestOf, peopleIn, shownIn, wordsIn } from '../../lib/people-in.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useOpenByPerson } from '../lib/open-by-person.js'
import { Age, dateTime, Gist, useLoaded, Wait } from '../lib/parts.js'
import { comparable, personOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { wantedIn } from '../lib/wanted.js'
import { SendersTable } from './senders-table.js'

/** Number of messages whose senders are shown, and that each further page adds. */
const PAGE = 500
/** Approximate duration (ms) of reading a page: a search may take several calls. */
const PAGE_TIME = 2_000

/**
 * The senders of the newest messages with what is open with them, or those whose name, address or id
 * has the words of `search`. Counts are of the messages that were read, which the table says. `sort`
 * and `setSort`: its order, which can be changed.
 */
export function Senders({ search = '', gateway, title, sort, setSort }) {
  const loaded = useMessages(search, gateway)
  const open = useOpenByPerson()
  const { messages = [], next, searchedTo } = loaded.value ?? {}
  const words = wordsIn(search)
  const found = messages.filter(({ from }) => hasWords(from, words))
  const senders = peopleIn(found)
  const isCut = next !== undefined
  const known = new Set(senders.map(({ identity }) => comparable(identity)))
  const isOther = (message) =>
    !known.has(comparable(personOf(message))) &&
    hasWords(message.from ?? {}, words) &&
    (gateway === undefined || message.gateway === gateway)
  // Who waits is listed, however many messages of others came since.
  const others = loaded.value && isCut ? peopleIn(open.newest.filter(isOther)).map(uncounted) : []
  const people = [...senders, ...others].map((each) => ({ ...each, open: open.of(each.identity) }))
  const counted = isCut ? `of the newest ${found.length.toLocaleString('en')}` : 'messages'
  const wanted = wantedIn({ search: quotedWords(words) })
  const waiting =
    others.length > 0 && `, and ${others.length} who ${others.length === 1 ? 'waits' : 'wait'} since before`
  const caption = html`${count(senders.length, 'sender')} in ${isCut && 'the newest '}${count(found.length, 'message')}${waiting}`
  return html`<h2>${title ?? (search ? html`Senders with “${search}”` : 'Recent senders')}</h2><${Wait} of=${loaded} what="the recent senders" />
    ${loaded.value && people.length === 0 && html`<p class="dim">${nobody(search, gateway, isCut)}</p>${search && html`<${InTexts} key=${search} search=${search} />`}`}
    ${people.length > 0 && html`<${SendersTable} ...${{ people, wanted, counted, caption, sort }} set=${setSort} />`}
    ${isCut && html`<p class="dim">Searched back to ${dateTime(searchedTo)}. <button type="button" onClick=${loaded.more}>Search older messages</button></p>`}`
}

/** None of the messages that were read is theirs. */
const uncounted = (person) => ({ ...person, messages: 0 })

function nobody(search, gateway, isCut) {
  const where = gateway ? ` on ${gateway}` : ''
  if (isCut) return `No such sender${where} among the newest messages.`
  return search ? `No stored message is from such a sender${where}.` : `Nobody has written yet${where}.`
}

/** Maximum number of conversations that are named. */
const MAX_CONVERSATIONS = 5

/** The conversations whose texts contain the searched name, and a link to search all messages. */
function InTexts({ search }) {
  const args = { search: quotedWords(search.split(/\s+/)), limit: MAX_CONVERSATIONS }
  const { value: { conversations = [] } = {} } = useLoaded(
    (signal) => invoke('conversation-list', args, signal),
    [search],
  )
  return html`${conversations.length > 0 && html`<h2>Conversations that name “${search}”</h2><ul class="plain" aria-label="Conversations">${conversations.map((each) => html`<li key=${each.id}><a data-row href=${link(['conversations', each.gateway, each.conversation])}>${shownIn(each.from ?? {}) ?? each.from?.address ?? each.from?.id}</a>: <${Gist} of=${each} /> <span class="dim">${each.gateway}, <${Age} at=${each.at} /> ago</span></li>`)}</ul>`}
    <p><a href=${link('messages', { search: quotedWords(search.split(/\s+/)) })}>Search all messages for “${search}”</a></p>`
}

/** Some words as a search, in which none is an operator. */
function quotedWords(words) {
  const quoted = words.filter(Boolean).map((word) => `"${word.replace(/["\\]/g, '\\$&')}"`)
  return quoted.join(' ')
}

/**
 * The newest messages, with a part of their sender; `more` reads another page. `{ messages, next,
 * searchedTo }`: `next` is undefined if these are all.
 */
function useMessages(search, gateway) {
  const key = `${gateway} ${search}`
  const [pages, setPages] = useState({ key, many: 1 })
  const many = pages.key === key ? pages.many : 1
  const known = useRef({})
  const loaded = useLoaded(
    async (signal) => {
      const before = known.current.key === key && many > 1 ? known.current : { messages: [] }
      const read = await readOn(before, PAGE * many, { search, gateway }, signal)
      known.current = { key, ...read }
      return known.current
    },
    [key, many],
  )
  // What is shown of another search would be taken for the answer to this one.
  const isOther = loaded.value !== undefined && loaded.value.key !== key
  return {
    ...loaded,
    value: isOther ? undefined : loaded.value,
    more: () => setPages({ key, many: many + 1 }),
  }
}

async function readOn({ messages, next }, limit, { search, gateway }, signal) {
  const filter = {
    ...(search && { sender: longestOf(wordsIn(search)) }),
    ...(gateway && { gateway }),
  }
  const deadline = performance.now() + PAGE_TIME
  let read = { messages, next }
  do {
    const left = Math.min(PAGE, limit - read.messages.length)
    const page = await invoke(
      'message-search',
      { ...filter, limit: left, ...(read.next && { before: read.next }) },
      signal,
    )
    read = { ...page, messages: [...read.messages, ...page.messages] }
  } while (read.next && read.messages.length < limit && performance.now() < deadline)
  return read
}
