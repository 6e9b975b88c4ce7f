import { useEffect, useRef, useState } from 'preact/hooks'
import { NOT_COUNTED, NOTHING_FOUND } from '../../lib/nothing-found.ts'
import { typedIdentity } from '../../lib/person-identity.ts'
import { similarPerson } from '../../lib/similar-person.ts'
import { invoke, isViewer } from '../lib/api.js'
import { useArrivals } from '../lib/arrivals.js'
import { html } from '../lib/html.js'
import { linkToKept } from '../lib/kept-links.js'
import { KeptRows } from '../lib/kept-rows.js'
import { changes } from '../lib/live.js'
import { searchOf } from '../lib/messages-of.js'
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.js'
import { Age, Empty, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { ANY, everywhere, isNarrow, nameOf, partsOf } from '../lib/person-identity.js'
import { labelOf, namesIn } from '../lib/person-names.js'
import { remembered } from '../lib/places.js'
import { go, link, replace, route } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { Erasure } from './erasure.js'
import { PeopleList } from './people-list.js'
import { Export, erase } from './person-actions.js'
import { IdentityForm, isReplacedBy } from './person-form.js'
import { Mentions } from './person-mentions.js'
import { EVENTS, Numbers, PersonMessages, TEXTS } from './person-messages.js'
import { OpenThings, useOpen } from './person-open.js'
import { Senders } from './senders.js'

/** Separates identities in the address, as names may contain spaces. */
const SEPARATOR = '\n'

/** Who wrote last, or one person: what is open, and their stored data, with export and erasure. */
export function PeoplePage({ query }) {
  const who = (query.who ?? '').split(SEPARATOR).filter(Boolean)
  if (isViewer.value)
    return html`<section class="page" aria-labelledby="title"><header class="bar"><h1 id="title">People</h1></header>
      <${Empty} title="This is for operators.">You are signed in as a viewer. Operators see here what is kept about one person, export it and erase it.<//></section>`
  return html`<section class="page people" aria-labelledby="title">
    ${who.length > 0 ? html`<${Person} key=${who.join(SEPARATOR)} who=${who} query=${query} />` : html`<${PeopleList} query=${query} />`}
  </section>`
}

/** The identities of a person, which can be removed, and the form for another one. */
function Identities({ who, names }) {
  const [given, setGiven] = useState({ gateway: ANY, name: '' })
  const show = (next) => replace('people', { who: next.join(SEPARATOR) })
  const remove = (identity) => {
    const others = who.filter((each) => each !== identity)
    // Without identities it is the list, from which one can go back to the person.
    if (others.length > 0) show(others)
    else go('people')
  }
  const add = (identity) => show([...who.filter((each) => !isReplacedBy(identity, each)), identity])
  return html`<ul class="chips" aria-label="Identities">${who.map(
    (identity) =>
      html`<li key=${identity} class="chip removable identity"><span>${labelOf(identity, names)}</span><button type="button" class="quiet" aria-label=${`Remove ${nameOf(identity)}`} title="Remove" onClick=${() => remove(identity)}>✕</button></li>`,
  )}</ul>
  <details class="more-identities"><summary>Add an identity of the same person</summary><${IdentityForm} value=${given} set=${setGiven} add=${add} action="Add an identity" /></details>`
}

/** How long (ms) a call waits for the count to end. */
const COUNT_WAIT = 1_000

/**
 * Counts what is kept (nothing without identities), with partial counts while it runs. `turn`
 * changes with each `reload`, and with `recount`, which shows the last count meanwhile.
 */
function useCount(who) {
  const [held, setHeld] = useState({})
  const [turn, setTurn] = useState(0)
  const isKept = useRef(false)
  useEffect(() => {
    if (who.length === 0) return undefined
    const end = new AbortController()
    const read = async () => {
      let value
      do {
        value = await invoke('person-count', { identity: who, wait: COUNT_WAIT }, end.signal)
        if (!end.signal.aborted && (value.done || !isKept.current)) setHeld({ value, at: Date.now() })
      } while (!value.done && !end.signal.aborted)
    }
    read().catch((error) => end.signal.aborted || setHeld({ error }))
    return () => end.abort(NO_LONGER_NEEDED)
  }, [who.join(SEPARATOR), turn])
  const recount = () => {
    isKept.current = true
    setTurn((last) => last + 1)
  }
  const reload = () => {
    setHeld({})
    isKept.current = false
    setTurn((last) => last + 1)
  }
  return { ...held, turn, reload, recount }
}

/** A number of rows, which the page has again on going back to it. */
function useKept(key, first) {
  const kept = useRef(remembered(route.peek().entry, 'person')).current
  const [many, setMany] = useState(kept[key] ?? first)
  const set = (next) => {
    kept[key] = next
    setMany(next)
  }
  return [many, set]
}

/**
 * An erasure does not store whom it erased, so the page shows only the one in its address. Another
 * one would look like a proof about this person.
 */
function Person({ who, query }) {
  const { erasure } = query
  const loaded = useCount(who)
  const elsewhere = useElsewhere(who, loaded)
  const { value, error, turn, reload, recount } = loaded
  const [limit, setLimit] = useKept('texts', TEXTS.first)
  const [events, setEvents] = useKept('events', EVENTS.first)
  const arrivals = useArrivals(messagesOf(who))
  const messages = useLoaded(
    arrivals.paced((signal) => invoke('person-show', { identity: who, limit, events }, signal)),
    [turn, arrivals.turn, limit, events, changes.approvals.value, changes.dead.value],
  )
  const shown = messages.value
  const open = useOpen(who, turn, arrivals)
  const names = namesOf(shown, who)
  const title = who.map((identity) => labelOf(identity, names)).join(', ')
  const called = [...new Set(who.map((identity) => names.get(identity)).filter(Boolean))]
  const [ended, setEnded] = useState()
  // Until an erasure has ended, the count is the one before it.
  const isOutdated = erasure !== undefined && erasure !== ended
  const end = () => {
    setEnded(erasure)
    reload()
  }
  const changed = () => {
    open.reload()
    messages.reload()
  }
  const show = (change) => replace('people', { ...query, ...change })
  const isKept = value && value.total > 0
  return html`<${Back} to="people" />
    <header class="bar"><h1 id="title">${called.join(', ') || partsOf(who[0]).name}</h1></header>
    <${StoreAway} />
    <${Identities} who=${who} names=${names} />
    ${called.length > 1 && html`<p class="warn-text" role="status">These identities have different names. Check that they are one person: an export or an erasure takes the data of all.</p>`}
    ${!isOutdated && shown && html`<${Numbers} who=${who} shown=${shown} />`}
    ${error && html`<${Wait} of=${{ ...loaded, value: undefined }} what="what is kept" />`}
    ${erasure && html`<${Erasure} id=${erasure} ended=${end} />`}
    ${!isOutdated && who.some(isNarrow) && html`<${Narrowed} who=${who} elsewhere=${elsewhere} />`}
    ${!isOutdated && html`<${OpenThings} of=${open} counted=${value} pushes=${shown?.pushes} changed=${changed} />${shown ? html`<${PersonMessages} who=${who} names=${names} shown=${shown} more=${setLimit} moreEvents=${setEvents} />` : html`<h2>What they wrote</h2><${Wait} of=${messages} what="their messages" />`}`}
    ${!error && html`<h2>What is kept</h2>`}
    ${isOutdated && html`<p class="dim" role="status">It is counted again after the erasure.</p>`}
    ${!isOutdated && !error && !value?.done && html`<${Progress} of=${value} />`}
    ${!isOutdated && value?.done && value.total === 0 && html`<${Nothing} who=${who} />`}
    ${!isOutdated && isKept && html`<${StoredData} title=${title} who=${who} of=${value} elsewhere=${elsewhere} query=${query} show=${show} open=${open.value} recount=${recount} />`}
    ${value?.done && html`<${Mentions} of=${value.mentions} who=${who} isKnown=${value.total > 0 || partsOf(who[0]).name.includes('@')} />`}
    ${value?.beforeRestore && html`<p class="dim">Not counted, and not erased: the content before a restore, in ${value.beforeRestore.join(', ')} of the data directory. If you do not need it, delete these folders.</p>`}`
}

/** A filter for the messages of a person: it takes one sender, so those of several are not filtered. */
function messagesOf([identity, ...others]) {
  return others.length > 0 ? {} : { sender: partsOf(identity).name }
}

/** The names of a person by identity. One that has none here may have it on another gateway. */
function namesOf(shown, who) {
  if (!shown) return new Map()
  const names = namesIn([...shown.wrote, ...shown.events.newest], who)
  const [name] = shown.names
  if (name !== undefined && who.length === 1) names.set(who[0], name)
  return names
}

/**
 * The number of records of the same addresses on other gateways: 0 if the identities have no others,
 * undefined while they are counted, and null if they could not be counted.
 */
function useElsewhere(who, { value, turn }) {
  const wide = who.some(isNarrow) ? [...new Set(who.map(everywhere))] : []
  const { value: all, error, turn: counted, reload } = useCount(wide)
  useEffect(() => {
    if (turn > counted) reload()
  }, [turn])
  if (wide.length === 0) return 0
  if (error) return null
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

function Nothing({ who }) {
  const { name } = partsOf(who[0])
  const similar = useSimilar(who)
  const isBare = who.some((identity) => !identity.includes('@') && identity.startsWith(`${ANY}:`))
  return html`<${Empty} title=${NOTHING_FOUND}>
    ${similar && html`Did you mean <a href=${link('people', { who: similar })}>${nameOf(similar)}</a>? `}${isBare ? 'Ids are compared exactly: check upper and lower case.' : 'Another gateway may know them by another id.'} ${NOT_COUNTED} <a href=${link('messages')}>Search the messages</a> to find how they are named.
  <//>${!name.includes('@') && html`<${Senders} search=${name} />`}`
}

/** Maximum number of senders whose addresses are compared. */
const MAX_SENDERS = 1_000

/** The identity of a sender that differs by a typo. */
function useSimilar(who) {
  const { value } = useLoaded(
    async (signal) => {
      const { people } = await invoke('person-list', { limit: MAX_SENDERS }, signal)
      const known = new Map(people.map(({ identity }) => [typedIdentity(identity), identity]))
      const near = who.map((each) => similarPerson(typedIdentity(each), [...known.keys()]))
      return known.get(near.find((each) => each !== undefined))
    },
    [who.join(SEPARATOR)],
  )
  return value
}

function StoredData({ who, of, elsewhere, title, query, show, open, recount }) {
  const { counts, total, done } = of
  const places = Object.entries(counts).filter(([, many]) => many > 0)
  const isReady = done && elsewhere !== undefined
  const empty = Object.keys(counts).filter((place) => counts[place] === 0)
  const [made, setMade] = useState()
  const make = (file) => {
    setMade(file)
    // The export is kept, too.
    recount()
  }
  const waits = open?.all.filter(({ kind, state }) => kind === 'conversation' && state === 'waits')
  // `do` may still be in `query`, and would open the dialog again after the erasure.
  const showErasure = (job) => show({ do: undefined, erasure: job })
  const ask = () => erase({ who, of, elsewhere, title, waits, showErasure })
  const isAsked = isReady && query.do === 'erase'
  useEffect(() => {
    if (!isAsked) return
    // The question is asked once, not again after a reload.
    show({ do: undefined })
    void ask()
  }, [isAsked])
  return html`<div class="buttons person-actions">
      <${Export} who=${who} elsewhere=${elsewhere} title=${title} earlier=${of.exports} made=${made} setMade=${make} />
      <button changes type="button" class="danger" disabled=${!isReady} title=${isReady ? undefined : 'After the count'} onClick=${ask}>Erase …</button>
    </div>
    <div class="scrolls" tabindex="0" role="region" aria-label="What is kept"><table class="kept">
      <caption>${count(total, 'record')} in ${count(places.length, 'place')}${done ? '' : ' so far'}</caption>
      <thead><tr><th scope="col">place</th><th scope="col" class="number">records</th></tr></thead>
      <tbody><${KeptRows} of=${of} linkOf=${linkToKept({ who, search: searchOf(who[0]), open: of.open })} /></tbody>
    </table></div>
    ${done && empty.length > 0 && html`<p class="dim">Nothing in: ${empty.join(', ')}.</p>`}`
}
