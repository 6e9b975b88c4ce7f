import { useRef, useState } from 'preact/hooks'
import { hasWords, longestOf, peopleIn, wordsIn } from '../../lib/people-in.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Marked } from '../lib/marked.js'
import { Age, dateTime, Gist, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { wantedIn } from '../lib/wanted.js'

/** Number of messages whose senders are shown, and that each further page adds. */
const PAGE = 500
/** Approximate duration (ms) of reading a page: a search may take several calls. */
const PAGE_TIME = 2_000

/**
 * The senders of the newest messages, or those whose name, address or id has the words of `search`.
 * Counts are of the messages that were read, which the table says.
 */
export function Senders({ search = '', gateway, title }) {
  const loaded = useMessages(search, gateway)
  const { messages = [], next, searchedTo } = loaded.value ?? {}
  const words = wordsIn(search)
  const found = messages.filter(({ from }) => hasWords(from, words))
  const people = peopleIn(found)
  const isCut = next !== undefined
  const counted = isCut ? `of the newest ${found.length.toLocaleString('en')}` : 'messages'
  const wanted = wantedIn({ search: words.map((word) => `"${word.replace(/["\\]/g, '\\$&')}"`).join(' ') })
  const older =
    isCut &&
    html`<p class="dim">Searched back to ${dateTime(searchedTo)}. <button type="button" onClick=${loaded.more}>Search older messages</button></p>`
  return html`<h2>${title ?? (search ? html`Senders with “${search}”` : 'Recent senders')}</h2><${Wait} of=${loaded} what="the recent senders" />
    ${loaded.value && people.length === 0 && html`<p class="dim">${nobody(search, gateway, isCut)}</p>`}
    ${
      people.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
      <caption>${count(people.length, 'sender')} in ${isCut && 'the newest '}${count(found.length, 'message')}</caption>
      <thead><tr><th scope="col">sender</th><th scope="col">gateway</th><th scope="col" class="number">${counted}</th><th scope="col">last</th><th scope="col" class="wide">last message</th></tr></thead>
      <tbody>${people.map((person) => html`<${Sender} key=${person.identity} of=${person} wanted=${wanted} counted=${counted} />`)}</tbody></table></div>`
    }
    ${older}`
}

function nobody(search, gateway, isCut) {
  const where = gateway ? ` on ${gateway}` : ''
  if (isCut) return `No such sender${where} among the newest messages.`
  return search ? `No stored message is from such a sender${where}.` : `Nobody has written yet${where}.`
}

function Sender({ of: { identity, gateways, name, shown, newest, messages }, wanted, counted }) {
  return html`<tr><td><a data-row href=${link('people', { who: identity })}>${shown && html`<${Marked} text=${shown} wanted=${wanted} /> · `}<${Marked} text=${name} wanted=${wanted} /></a></td><td>${[...gateways].join(', ')}</td><td class="number" data-label=${counted}>${messages.toLocaleString('en')}</td><td class="whole-words"><${Age} at=${newest.at} /> ago</td><td class="wide gist"><a href=${link(['messages', newest.id])}><${Gist} of=${newest} /></a></td></tr>`
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
