import { useEffect, useState } from 'preact/hooks'
import { NOT_COUNTED, NOTHING_FOUND } from '../../lib/nothing-found.ts'
import { invoke, isViewer } from '../lib/api.js'
import { PLACES } from '../lib/erased-places.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { now } from '../lib/live.js'
import { Marked, wantedIn } from '../lib/marked.js'
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.js'
import { Age, Empty, Gist, Outcome, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { ANY, everywhere, isFrom, isNarrow, nameOf, partsOf, personOf } from '../lib/person-identity.js'
import { link, replace } from '../lib/router.js'
import { quoted } from '../lib/suggest.js'
import { count } from '../lib/troubles.js'
import { Erasure } from './erasure.js'
import { Export, erase } from './person-actions.js'
import { Mentions } from './person-mentions.js'

/** Separates identities in the address, as names may contain spaces. */
const SEPARATOR = '\n'

/** One person: their stored data by place, with export and erasure. */
export function PeoplePage({ query }) {
  const who = (query.who ?? '').split(SEPARATOR).filter(Boolean)
  const [typed, setTyped] = useState('')
  const show = (next) => replace('people', { who: next.join(SEPARATOR) })
  const showErasure = (job) => replace('people', { ...query, erasure: job })
  if (isViewer.value)
    return html`<section class="page" aria-labelledby="title"><header class="bar"><h1 id="title">People</h1></header>
      <${Empty} title="This is for operators.">You are signed in as a viewer. Operators see here what is kept about one person, export it and erase it.<//></section>`
  return html`<section class="page people" aria-labelledby="title">
    <header class="bar"><h1 id="title">People</h1></header>
    <${StoreAway} />
    <${Who} who=${who} show=${show} typing=${setTyped} />
    ${who.length > 0 ? html`<${Person} key=${who.join(SEPARATOR)} who=${who} erasure=${query.erasure} showErasure=${showErasure} show=${show} />` : html`<${Senders} show=${show} typed=${typed} /><${Jobs} isSelected=${isErasing} />`}
  </section>`
}

const isErasing = ({ kind }) => kind === 'person-erase'

/** The form for a person: one or several of their identities. */
function Who({ who, show, typing }) {
  const [given, setGiven] = useState({ gateway: ANY, name: '' })
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const add = async (event) => {
    event.preventDefault()
    const name = given.name.trim()
    // `email:ada@example.com` may be pasted.
    const isWhole = [ANY, ...gateways].some((gateway) => name.startsWith(`${gateway}:`))
    const exact = isWhole ? name : `${given.gateway}:${name}`
    const isPart = who.length === 0 && !isWhole && !ADDRESS.test(name)
    const identity = (isPart && (await onlySender(name, given.gateway))) || exact
    show([...who.filter((each) => !isReplacedBy(identity, each)), identity])
    setGiven({ ...given, name: '' })
  }
  const take = (key) => (event) => {
    setGiven({ ...given, [key]: event.target.value })
    if (key === 'name') typing(event.target.value.trim())
  }
  return html`<form class="who" onSubmit=${add}>
    <label class="pick"><span>Gateway</span><select value=${given.gateway} onChange=${take('gateway')}>
      <option value=${ANY}>every gateway</option>${gateways.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    <label class="pick wide-field"><span>Address or id</span>
      <input type="search" required maxlength="300" autocomplete="off" spellcheck=${false} placeholder="ada@example.com, U024BE7LH" value=${given.name} onInput=${take('name')} /></label>
    <button type="submit" class=${who.length === 0 ? 'primary' : ''}>${who.length === 0 ? 'Show what is kept' : 'Add an identity'}</button>
    <p class="hint">An address is best searched on every gateway. Choose the gateway of any other id: elsewhere it may belong to somebody else. Add all identities of the same person.</p>
    ${
      who.length > 0 &&
      html`<ul class="chips" aria-label="Identities">${who.map(
        (identity) =>
          html`<li key=${identity}><button type="button" class="chip" aria-label=${`Remove ${nameOf(identity)}`} onClick=${() => show(who.filter((each) => each !== identity))}>${nameOf(identity)} ✕</button></li>`,
      )}</ul>`
    }
  </form>`
}

/** Whether a known identity has the same name as a new one, and one of both is for every gateway. */
function isReplacedBy(added, known) {
  const [one, other] = [partsOf(added), partsOf(known)]
  const isWide = one.gateway === ANY || other.gateway === ANY
  return added === known || (isWide && one.name === other.name && one.isExternal === other.isExternal)
}

/** A complete address: another one that contains it is another person. */
const ADDRESS = /^\S+@\S+\.\w+$/

/**
 * The identity of the only recent sender whose name, address or id has this text, unless the text
 * is an id itself.
 */
async function onlySender(text, gateway) {
  const { messages } = await invoke('message-search', { limit: MAX_SEARCHED, sender: text }).catch(() => ({
    messages: [],
  }))
  const here = messages.filter((message) => gateway === ANY || message.gateway === gateway)
  const people = peopleIn(here)
  return people.length === 1 && people[0].name !== text ? people[0].identity : undefined
}

/** How long (ms) a call waits for the count to end. */
const COUNT_WAIT = 1_000

/** Counts what is kept (nothing without identities), with partial counts while it runs. `turn` changes with each `reload`. */
function useCount(who) {
  const [held, setHeld] = useState({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (who.length === 0) return undefined
    const end = new AbortController()
    const read = async () => {
      let value
      do {
        value = await invoke('person-count', { identity: who, wait: COUNT_WAIT }, end.signal)
        if (!end.signal.aborted) setHeld({ value, at: Date.now() })
      } while (!value.done && !end.signal.aborted)
    }
    read().catch((error) => end.signal.aborted || setHeld({ error }))
    return () => end.abort(NO_LONGER_NEEDED)
  }, [who.join(SEPARATOR), turn])
  const reload = () => {
    setHeld({})
    setTurn((last) => last + 1)
  }
  return { ...held, turn, reload }
}

/**
 * An erasure does not store whom it erased, so the page shows only the one in its address. Another
 * one would look like a proof about this person.
 */
function Person({ who, erasure, showErasure, show }) {
  const loaded = useCount(who)
  const elsewhere = useElsewhere(who, loaded)
  const { value, error, turn, reload } = loaded
  const [ended, setEnded] = useState()
  // Until an erasure has ended, the count is the one before it.
  const isOutdated = erasure !== undefined && erasure !== ended
  const end = () => {
    setEnded(erasure)
    reload()
  }
  if (error) return html`<${Wait} of=${{ ...loaded, value: undefined }} what="what is kept" />`
  const isKept = value && value.total > 0
  return html`${erasure && html`<${Erasure} id=${erasure} places=${PLACES} ended=${end} />`}
    ${!isOutdated && who.some(isNarrow) && html`<${Narrowed} who=${who} elsewhere=${elsewhere} />`}
    ${!isOutdated && html`<${LastMessages} who=${who} turn=${turn} />`}
    <h2>What is kept</h2>
    ${isOutdated && html`<p class="dim" role="status">It is counted again after the erasure.</p>`}
    ${!isOutdated && !value?.done && html`<${Progress} of=${value} />`}
    ${!isOutdated && value?.done && value.total === 0 && html`<${Nothing} who=${who} show=${show} />`}
    ${!isOutdated && isKept && html`<${StoredData} who=${who} counts=${value.counts} total=${value.total} done=${value.done} elsewhere=${elsewhere} showErasure=${showErasure} />`}
    ${value?.done && html`<${Mentions} who=${who} turn=${turn} isKnown=${value.total > 0 || partsOf(who[0]).name.includes('@')} />`}
    ${value?.beforeRestore && html`<p class="dim">Not counted, and not erased: the content before a restore, in ${value.beforeRestore.join(', ')} of the data directory. If you do not need it, delete these folders.</p>`}
    <${Jobs} isSelected=${({ id, state }) => id === erasure && state === 'running'} ended=${reload} />`
}

/**
 * The number of records of the same addresses on other gateways: 0 if the identities have no others,
 * and undefined while it is unknown.
 */
function useElsewhere(who, { value, turn }) {
  const wide = who.some(isNarrow) ? [...new Set(who.map(everywhere))] : []
  const { value: all, turn: counted, reload } = useCount(wide)
  useEffect(() => {
    if (turn > counted) reload()
  }, [turn])
  if (wide.length === 0) return 0
  return all?.done && value?.done ? Math.max(0, all.total - value.total) : undefined
}

/** Says that a page is about one gateway only, and leads to the same address on all. */
function Narrowed({ who, elsewhere }) {
  const names = who.filter(isNarrow).map((identity) => {
    const { gateway, name } = partsOf(identity)
    return html`<code>${name}</code> on <b>${gateway}</b> only`
  })
  const wide = [...new Set(who.map(everywhere))]
  return html`<p class="narrowed" role="status">This is ${names.map((name, at) => html`${at > 0 && ', '}${name}`)}. ${elsewhere > 0 && html`<span class="warn-text"><b>${count(elsewhere, 'record')}</b> of the same address ${elsewhere === 1 ? 'is' : 'are'} elsewhere.</span> `}${elsewhere === 0 && 'Nothing more is kept elsewhere. '}<a href=${link('people', { who: wide.join(SEPARATOR) })}>Show every gateway</a></p>`
}

function Progress({ of }) {
  const { places = { read: 0, all: 1 }, at = 'the messages of the person', startedAt } = of ?? {}
  return html`<div class="counting" role="status" aria-busy="true"><progress max=${places.all} value=${places.read} aria-label="Progress"></progress>
    <p class="dim">Reading all places: now ${at}, ${places.read} of ${places.all}${startedAt !== undefined && html`, for <${Age} at=${startedAt} />`}. The count goes on while you look at other things.</p></div>`
}

/** Maximum number of shown messages, and of searched ones. */
const MAX_MESSAGES = 5
const MAX_FOUND = 50

/**
 * The newest messages of a person, read again with each `turn`. They load before the counts, which
 * take longer.
 */
function LastMessages({ who, turn }) {
  const search = searchOfSender(who)
  const { value } = useLoaded(
    (signal) => invoke('message-search', { search, limit: MAX_FOUND }, signal),
    [search, turn],
  )
  // A search also finds parts of names.
  const all = value?.messages.filter((message) => isFrom(message, who)) ?? []
  const messages = all.slice(0, MAX_MESSAGES)
  if (messages.length === 0) return null
  return html`<h2>Last messages</h2><ul class="plain">${messages.map(
    (message) =>
      html`<li key=${message.id}><a data-row href=${link(['messages', message.id])}><${Age} at=${message.at} /> <${Gist} of=${message} /></a> <span class="dim">${message.gateway}</span> <${Outcome} outcome=${message.outcome} /></li>`,
  )}</ul>${(value?.next !== undefined || all.length > MAX_MESSAGES) && html`<p><a href=${link('messages', { search })}>All their messages</a></p>`}`
}

/** Number of newest messages whose senders are shown. */
const MAX_SEARCHED = 500

/** Ms after the last key until senders are searched. */
const SETTLE = 250

/**
 * The last senders, or those whose name, address or id has the typed words. Helps if no address is
 * known.
 */
function Senders({ show, typed }) {
  const [sender, setSender] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setSender(typed), SETTLE)
    return () => clearTimeout(timer)
  }, [typed])
  const loaded = useLoaded(
    (signal) => {
      const [longest] = wordsOf(sender).sort((one, other) => other.length - one.length)
      return invoke('message-search', { limit: MAX_SEARCHED, ...(longest && { sender: longest }) }, signal)
    },
    [sender],
  )
  const messages = loaded.value?.messages ?? []
  const all = peopleIn(messages.filter(({ from }) => hasWords(from, wordsOf(sender))))
  const isCut = loaded.value?.next !== undefined
  return html`<h2>${sender ? html`Senders with “${sender}”` : 'Recent senders'}</h2><${Wait} of=${loaded} what="the recent senders" />
    ${loaded.value && all.length === 0 && html`<p class="dim">${sender ? 'No recent message is from such a sender.' : 'Nobody has written yet.'}</p>`}
    ${
      all.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="Recent senders"><table class="senders">
      <thead><tr><th scope="col">sender</th><th scope="col">gateway</th><th scope="col" class="number">messages</th><th scope="col">last</th><th scope="col" class="wide">last message</th></tr></thead>
      <tbody>${all.map(({ identity, gateways, name, shown, newest, messages }) => html`<tr key=${identity}><td><button type="button" class="linkish" data-row onClick=${() => show([identity])}><${Marked} text=${shown && shown !== name ? `${shown} · ${name}` : name} wanted=${wantedIn({ text: sender })} /></button></td><td>${[...gateways].join(', ')}</td><td class="number">${messages}</td><td class="whole-words"><${Age} at=${newest.at} /><span class="wide"> ago</span></td><td class="wide gist"><a href=${link(['messages', newest.id])}><${Gist} of=${newest} /></a></td></tr>`)}</tbody></table></div>
      <p class="dim">${isCut && `Of the newest ${MAX_SEARCHED} ${sender ? 'such messages' : 'messages'}. `}Type a part of a name to find others.</p>`
    }`
}

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean)

/** Whether a sender has all words in their name, address or id: `petra novak`, `petra.novak@…`. */
function hasWords({ name = '', address = '', id = '' }, words) {
  const all = `${name}\n${address}\n${id}`.toLowerCase()
  return words.every((word) => all.includes(word))
}

/** The senders of messages, newest first. */
function peopleIn(messages) {
  const people = new Map()
  for (const message of messages) {
    const { gateway, from } = message
    const name = from.address ?? from.id
    if (!name) continue
    const identity = personOf(message)
    const known = people.get(identity) ?? {
      identity,
      name,
      shown: from.name,
      newest: message,
      gateways: new Set(),
      messages: 0,
    }
    known.gateways.add(gateway)
    known.messages++
    people.set(identity, known)
  }
  return [...people.values()]
}

function Nothing({ who, show }) {
  const { name } = partsOf(who[0])
  const isBare = who.some((identity) => !identity.includes('@') && identity.startsWith(`${ANY}:`))
  return html`<${Empty} title=${NOTHING_FOUND}>
    ${isBare ? 'Ids are compared exactly: check upper and lower case.' : 'Another gateway may know them by another id.'} ${NOT_COUNTED} <a href=${link('messages')}>Search the messages</a> to find how they are named.
  <//>${!name.includes('@') && html`<${Senders} show=${show} typed=${name} />`}`
}

function StoredData({ who, counts, total, done, elsewhere, showErasure }) {
  const places = Object.entries(counts).filter(([, many]) => many > 0)
  const isReady = done && elsewhere !== undefined
  const empty = Object.keys(counts).filter((place) => counts[place] === 0)
  return html`<div class="buttons person-actions">
      <${Export} who=${who} elsewhere=${elsewhere} />
      <button changes type="button" class="danger" disabled=${!isReady} title=${isReady ? undefined : 'After the count'} onClick=${() => erase({ who, counts, total, elsewhere, showErasure })}>Erase …</button>
      <a class="button" href=${link('messages', { search: searchOfSender(who) })}>Their messages</a>
    </div>
    <div class="scrolls" tabindex="0" role="region" aria-label="What is kept"><table class="kept">
      <caption>${count(total, 'record')} in ${count(places.length, 'place')}${done ? '' : ' so far'}</caption>
      <thead><tr><th scope="col">place</th><th scope="col" class="number">records</th></tr></thead>
      <tbody>${places.map(([place, many]) => html`<tr key=${place}><td>${place} <span class="dim">${PLACES[place] ?? ''}</span></td><td class="number">${many.toLocaleString('en')}</td></tr>`)}</tbody>
    </table></div>
    ${done && empty.length > 0 && html`<p class="dim">Nothing in: ${empty.join(', ')}.</p>`}`
}

/**
 * The search for messages of the first identity: a search accepts one sender. On its gateway only,
 * unless it is for all.
 */
function searchOfSender([first]) {
  const { gateway, name } = partsOf(first)
  return `${gateway === ANY ? '' : `gateway:${quoted(gateway)} `}from:${quoted(name)}`
}
