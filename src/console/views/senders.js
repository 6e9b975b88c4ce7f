import { useLayoutEffect, useRef } from 'preact/hooks'
import { foldText } from '../../lib/fold-text.ts'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { shownIn, withoutGateway, wordsIn } from '../../lib/people-in.ts'
import { similarPerson } from '../../lib/similar-person.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { isOpenAs, NOTHING_OPEN } from '../lib/open-by-person.js'
import { Age, dateTime, Gist, useLoaded, Wait } from '../lib/parts.js'
import { ANY, comparable } from '../lib/person-identity.js'
import { readPeople, usePeople } from '../lib/read-people.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { wantedIn } from '../lib/wanted.js'
import { SendersTable } from './senders-table.js'

/**
 * The senders of the newest messages with what is `open` with them, or those whose name, address or
 * id has the words of `search`. `filter`: that of the address; with a gateway, only what is open there
 * counts. `others`: people with something open whose messages are not among those that were read.
 * `countOf(group)`: how many people a list of a group has; see `isOpenAs`. `arrivals`: see `usePeople`.
 */
export function useSenders({ search = '', filter = {}, open = NOTHING_OPEN, arrivals }) {
  const { gateway, since, until } = filter
  const loaded = usePeople({ search, ...filter }, arrivals)
  const { people = [], next, total = 0 } = loaded.value ?? {}
  const known = new Set(people.map(({ identity }) => comparable(identity)))
  const isListed = loaded.value && !since && !until
  const others = isListed ? open.without(known, wordsIn(search), gateway) : []
  const more = next !== undefined || total > people.length || undefined
  const all = [...people, ...others.map((each) => ({ ...each, more }))].map((each) => ({
    ...each,
    open: open.of(each.identity, gateway),
  }))
  const countOf = (group) => all.filter((person) => isOpenAs(person.open, group)).length
  // With another one of these, the rows need not keep their order.
  const shown = JSON.stringify([search, filter, open !== NOTHING_OPEN, loaded.value?.pages])
  return { search, filter, loaded, others, all, countOf, shown }
}

/** The senders that match `search`. */
export function Senders({ search }) {
  return html`<${SenderList} of=${useSenders({ search })} />`
}

/**
 * `of`: see `useSenders`. `set` changes the filter; without it, the columns have no buttons.
 * `choosing`: while it is greater than 0, the first row gets the focus, again with each change.
 */
export function SenderList({ of: { search, filter, loaded, others, all, shown }, set, choosing = 0 }) {
  const { people: senders = [], next, searchedTo } = loaded.value ?? {}
  const isCut = next !== undefined
  const people = filter.open ? all.filter((person) => isOpenAs(person.open, filter.open)) : all
  const wanted = wantedIn({ search: quotedWords(wordsIn(search).map(withoutGateway)) })
  const box = useRef()
  const isReady = loaded.value !== undefined && people.length > 0
  useLayoutEffect(() => {
    if (choosing > 0 && isReady) box.current.querySelector('[data-row]')?.focus()
  }, [choosing, isReady])
  const caption = captionOf({ ...loaded.value, senders, isCut, others, filter, shown: people.length })
  return html`<div ref=${box}>${search && html`<h2>Senders with “${pastedPerson(search)}”</h2>`}<${Wait} of=${loaded} what="the recent senders" />
    ${loaded.value && all.length === 0 && html`<${Nobody} ...${{ search, filter, isCut }} />`}
    ${all.length > 0 && people.length === 0 && html`<p class="dim">${NONE_OPEN[filter.open] ?? 'Nothing is open'} with ${search ? 'them' : count(all.length, 'sender')}. <a href=${link('people', { search, ...filter, open: undefined })}>Show all</a></p>`}
    ${people.length > 0 && html`<${SendersTable} ...${{ people, wanted, caption, filter, set, shown }} />`}
    ${isCut && html`<p class="dim">${people.length > 0 ? `Messages before ${dateTime(searchedTo)} are not counted yet.` : `Searched back to ${dateTime(searchedTo)}.`} <button type="button" onClick=${loaded.more}>${people.length > 0 ? 'Count older messages' : 'Search older messages'}</button></p>`}</div>`
}

/** What is said if nothing of a kind is open. */
const NONE_OPEN = {
  failed: 'Nothing has failed',
  answer: 'No conversation waits for an answer',
  approval: 'Nothing waits for an approval',
  held: 'No conversation is taken over',
  paused: 'Nothing is paused',
  retrying: 'Nothing is tried again',
}

function captionOf({ senders, total = 0, messages = 0, isCut, searchedTo, others, filter, shown }) {
  const first = senders.length < total && `The first ${senders.length.toLocaleString('en')} of `
  const from = isCut ? ` the newest ${count(messages, 'message')}` : ` ${count(messages, 'message')}`
  const since = isCut && `, since ${dateTime(searchedTo)}`
  const waiting = others.length > 0 && `, and ${count(others.length, 'other')} with something open`
  const some = filter.open && `${shown.toLocaleString('en')} of `
  return html`${some}${first}${count(total, 'sender')} in${from}${since}${waiting}`
}

/** Says that the sender is unknown. An id may be known without messages. */
function Nobody({ search, filter: { gateway, since, until }, isCut }) {
  const where = `${gateway ? ` on ${gateway}` : ''}${since || until ? ' in this time' : ''}`
  const id = pastedPerson(search)
  const isId = id !== '' && !/\s/.test(id)
  const similar = useSimilar(id)
  return html`<p class="dim">${isCut ? `No such sender${where} among the newest messages.` : search ? `No stored message is from such a sender${where}.` : `Nobody has written yet${where}.`}${similar && html` Did you mean <a href=${link('people', { who: similar.identity })}>${similar.name ?? similar.id}</a>?`}${isId && html` <a href=${link('people', { who: identityIn(id, gateway ?? ANY) })}>Show what is kept about ${id}</a>`}</p>
    ${search && html`<${InTexts} key=${id} search=${id} />`}`
}

/** The person whose name, address or id differs from this one by a typo. */
function useSimilar(name) {
  const { value } = useLoaded(
    async (signal) => {
      if (name === '') return undefined
      const { people } = await readPeople({}, signal)
      const known = new Map(
        people.flatMap((person) =>
          [person.name, person.id].filter(Boolean).map((each) => [foldText(each), person]),
        ),
      )
      return known.get(similarPerson(foldText(name), [...known.keys()]))
    },
    [name],
  )
  return value
}

/** `support:ada@example.com` is an identity already. */
function identityIn(id, gateway) {
  return /^(\*|\w[\w.-]*):./.test(id) ? id : `${gateway}:${id}`
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
