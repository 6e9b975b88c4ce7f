import { useEffect, useRef, useState } from 'preact/hooks'
import { errorInWords } from '../../lib/audit-words.ts'
import { invoke } from '../lib/api.js'
import { useFirstRow } from '../lib/first-row.js'
import { html } from '../lib/html.js'
import { Age, act, Empty, Moment, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { keepTrail } from '../lib/trail.js'
import { AuditEntryPage } from './audit-entry.js'
import { AuditFilter } from './audit-filter.js'
import { NoteText } from './audit-note.js'
import { DECISION, inWords, NAMELESS, Result, What, Who } from './audit-parts.js'
import { readRequests, useRequests } from './audit-requests.js'
import { Came } from './decided.js'

const PAGE = 100
/** Polling interval (ms) of the newest entry. */
const POLL_INTERVAL = 3_000
const NAMES = ['by', 'action', 'without', 'what', 'kind', 'outcome', 'since', 'until']

/** Decisions and changes, newest first, or one of them. */
export function AuditPage({ path: [id], query: { search, ...given } }) {
  // Addresses of messages have `search`, so it works here too.
  const query = search ? { what: search, ...given } : given
  return id === undefined
    ? html`<${Entries} query=${query} />`
    : html`<${AuditEntryPage} key=${id} id=${id} />`
}

function Entries({ query }) {
  const given = Object.fromEntries(NAMES.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  const [older, setOlder] = useState({ of: '', entries: [], next: undefined })
  const of = JSON.stringify(given)
  const loaded = useLoaded(async (signal) => ({ ...(await entriesOf(given, signal)), of }), [of])
  const { value, reload } = loaded
  const isExtended = older.of === of
  // The newest page grows at its top while older ones are shown below it.
  const entries = isExtended ? withNewer(value?.entries, older.entries) : (value?.entries ?? [])
  const next = isExtended ? older.next : value?.next
  const requests = useRequests(entries)
  useNewEntries(reload)
  const keep = () =>
    keepTrail(
      entries.map(({ id }) => ({ href: link(['audit', id]), key: id })),
      next === undefined,
    )
  const { box, toRows } = useFirstRow(value?.of === of && entries.length > 0)
  const load = () =>
    act(async () => {
      const page = await invoke('audit-list', { ...given, limit: PAGE, before: next })
      setOlder({ of, entries: [...entries, ...page.entries], next: page.next })
    })
  return html`<section ref=${box} class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Audit</h1><${AuditFilter} query=${query} given=${given} toRows=${toRows} /></header>
    <${SavedViews} of="audit" query=${given} />
    <${StoreAway} />
    <${Wait} of=${loaded} what="the audit log" />
    ${value && entries.length === 0 && (of === '{}' ? html`<${Empty} title="No entries.">Decisions and changes are listed here, with who made them.<//>` : html`<${Empty} title="No entry matches."><a href=${link('audit')}>Clear the filters</a><//>`)}
    ${
      entries.length > 0 &&
      html`<div class="audit" onClickCapture=${keep} tabindex="0" role="region" aria-label="Entries"><table>
      <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Result</th></tr></thead>
      <tbody>${entries.map((entry) => html`<${Row} key=${entry.id} of=${entry} query=${query} requests=${requests} />`)}</tbody></table></div>`
    }
    ${next !== undefined && html`<p><button type="button" onClick=${load}>Show older ones</button></p>`}
  </section>`
}

/**
 * Loads the list again whenever the log has a new entry. If that cannot be found out, too: the list
 * then says how old it is.
 */
function useNewEntries(reload) {
  const newest = useRef()
  const hasFailed = useRef(false)
  useEffect(() => {
    const look = async () => {
      if (document.hidden) return
      const [found] = await Promise.allSettled([invoke('audit-list', { limit: 1 })])
      const id = found.value?.entries[0]?.id
      const isNew = id !== undefined && newest.current !== undefined && id !== newest.current
      const fails = found.status === 'rejected'
      if (isNew || fails || hasFailed.current) reload()
      hasFailed.current = fails
      newest.current = id ?? newest.current
    }
    void look()
    const timer = setInterval(look, POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
}

/** Shown entries, with those of the newest page that are not among them yet. */
function withNewer(newest = [], shown) {
  const known = new Set(shown.map(({ id }) => id))
  return [...newest.filter(({ id }) => !known.has(id)), ...shown]
}

/**
 * The first page. The log has no titles of requests, so decisions whose title has the wanted text
 * are added here.
 */
async function entriesOf(given, signal) {
  const { what, ...others } = given
  const page = await invoke('audit-list', { ...given, limit: PAGE }, signal)
  const isOther = others.action !== undefined && others.action !== DECISION
  if (what === undefined || isOther) return page
  const [decisions, requests] = await Promise.all([
    invoke('audit-list', { ...others, action: DECISION, limit: PAGE }, signal),
    readRequests(signal),
  ])
  const wanted = what.toLowerCase()
  const known = new Set(page.entries.map(({ id }) => id))
  const byTitle = decisions.entries.filter(
    ({ id, target }) => !known.has(id) && requests.get(target?.id)?.title?.toLowerCase().includes(wanted),
  )
  return { ...page, entries: [...page.entries, ...byTitle].toSorted((a, b) => b.at - a.at) }
}

/** The time and the action link to the entry; the person links to all that they did. */
function Row({ of: entry, query, requests }) {
  const { at, by, via, action, id, status, word, reason, error, from } = entry
  const denied = action === DECISION && word === 'denied' ? requests?.get(entry.target?.id) : undefined
  return html`<tr class=${status}><td class="time"><a data-row class="plain-text" href=${link(['audit', id])}><${Age} at=${at} /> ago</a> <span class="dim"><${Moment} at=${at} /></span></td>
    <td class="by"><${Who} of=${entry} to=${link('audit', { ...query, by })} /><span class="about" title=${from}>${via}</span></td>
    <td class="what"><p><a class="title" title=${action} href=${link(['audit', id])}>${inWords(entry)}</a> <${What} of=${entry} requests=${requests} />${NAMELESS.test(action) && html` <span class="dim">the log keeps no names of people</span>`}</p>
      <${NoteText} of=${entry} />${reason && html`<p class="dim"><q>${reason}</q></p>`}${denied && html`<${Came} of=${denied} />`}${error && html`<p class=${status === 'failed' ? 'error' : 'dim'} title=${error}>${errorInWords(error)}</p>`}</td>
    <td class="outcome"><${Result} of=${entry} /></td></tr>`
}
