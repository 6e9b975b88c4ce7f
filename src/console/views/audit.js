import { useEffect, useState } from 'preact/hooks'
import { auditCsv } from '../../lib/audit-words.ts'
import { invoke } from '../lib/api.js'
import { FilterBox } from '../lib/filter-box.js'
import { html } from '../lib/html.js'
import { Age, act, CopyLink, Empty, Moment, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { save } from '../lib/save-file.js'
import { SavedViews } from '../lib/saved.js'
import { count } from '../lib/troubles.js'
import { AuditEntryPage } from './audit-entry.js'
import { DECISION, inWords, Result, shownName, What, Who } from './audit-parts.js'

const PAGE = 100
/** Entries that an export reads in one call. */
const EXPORT_PAGE = 1_000
/** Maximum number of entries in an export. */
const MOST_EXPORTED = 100_000
/** Polling interval (ms) of the newest entries. */
const POLL_INTERVAL = 10_000
const STATUSES = ['done', 'denied', 'cancelled', 'failed']
/** Entries of a program that submits messages are many, and seldom what one looks for. */
const SUBMISSION = 'message-submit'
const KINDS = ['person', 'token', 'system']
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
  const loaded = useLoaded((signal) => entriesOf(given, signal), [of])
  const { value, reload } = loaded
  const more = older.of === of ? older : { entries: [], next: undefined }
  const entries = [...(value?.entries ?? []), ...more.entries]
  const next = more.entries.length > 0 ? more.next : value?.next
  const titles = useTitles(entries)
  // While older pages are shown, the first one is not reloaded, because they continue it.
  const isFirstPage = more.entries.length === 0
  useEffect(() => {
    const timer = setInterval(() => document.hidden || !isFirstPage || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [isFirstPage])
  const load = () =>
    act(async () => {
      const page = await invoke('audit-list', { ...given, limit: PAGE, before: next })
      setOlder({ of, entries: [...more.entries, ...page.entries], next: page.next })
    })
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Audit</h1><${Filter} query=${query} given=${given} reload=${reload} /></header>
    <div class="bar inbox"><div class="segments" role="group" aria-label="Result">${['', ...STATUSES].map((value) => html`<button key=${value} type="button" aria-pressed=${(query.outcome ?? '') === value} onClick=${() => replace('audit', { ...query, outcome: value })}>${value || 'all'}</button>`)}</div>
      <button type="button" aria-pressed=${query.without === SUBMISSION} onClick=${() => replace('audit', { ...query, without: query.without === SUBMISSION ? '' : SUBMISSION })}>Hide submitted messages</button></div>
    <${SavedViews} of="audit" query=${given} />
    <${StoreAway} />
    <${Wait} of=${loaded} what="the audit log" />
    ${value && entries.length === 0 && (of === '{}' ? html`<${Empty} title="No entries.">Decisions and changes are listed here, with who made them.<//>` : html`<${Empty} title="No entry matches."><a href=${link('audit')}>Clear the filters</a><//>`)}
    ${
      entries.length > 0 &&
      html`<div class="audit" tabindex="0" role="region" aria-label="Entries"><table>
      <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Result</th></tr></thead>
      <tbody>${entries.map((entry) => html`<${Row} key=${entry.id} of=${entry} query=${query} titles=${titles} />`)}</tbody></table></div>`
    }
    ${next !== undefined && html`<p><button type="button" onClick=${load}>Show older ones</button></p>`}
  </section>`
}

function Filter({ query, given, reload }) {
  const known = useKnown()
  const fields = [
    {
      key: 'by',
      name: 'by',
      example: 'anna',
      about: 'who did it: a part of the name',
      values: () => known.by,
    },
    {
      key: 'action',
      name: 'action',
      example: 'dead-letter-*',
      about: 'the action, or a glob',
      values: () => known.action,
    },
    {
      key: 'without',
      name: 'without',
      example: SUBMISSION,
      about: 'not this action, or a glob',
      values: () => known.action,
    },
    {
      key: 'kind',
      name: 'kind',
      example: 'token',
      about: 'a person, a token, or Trivium itself',
      values: () => KINDS,
    },
    {
      key: 'result',
      name: 'outcome',
      example: 'denied',
      about: 'whether it was done, or an error code',
      values: () => known.outcome,
    },
    {
      key: 'object',
      name: 'what',
      example: 'shop',
      about: 'a name or id that it applied to, or a reason',
      values: () => known.what,
    },
  ]
  const words = [['shop "order 4711"', 'the same as object:']]
  const exported = () =>
    act(async () => {
      const entries = await allOf(given)
      save(`audit-${new Date().toISOString().slice(0, 10)}.csv`, auditCsv(entries), 'text/csv')
      return `${count(entries.length, 'entry').replace(/entrys$/, 'entries')} exported.`
    })
  return html`<search class="filter">
    <${FilterBox} query=${query} set=${(change) => replace('audit', { ...query, ...change })} fields=${fields} rest="what" words=${words} label="Search the audit log" placeholder="Search: by:, action:, object: …  /" />
    <${Range} query=${query} set=${(span) => replace('audit', { ...query, ...span })} />
    <button type="button" onClick=${exported}>Export CSV</button>
    <${CopyLink} />
    <button type="button" onClick=${reload}>Reload</button></search>`
}

/** The authors, actions, outcomes and objects of the newest entries, which the search suggests. */
function useKnown() {
  const { value = [] } = useLoaded(
    async (signal) => (await invoke('audit-list', { limit: EXPORT_PAGE }, signal)).entries,
    [],
  )
  const distinct = (of) => [...new Set(value.flatMap(of))]
  const codes = distinct(({ outcome }) => (outcome === 'ok' ? [] : [outcome]))
  return {
    by: distinct(({ by }) => shownName(by)),
    action: distinct(({ action }) => action).toSorted(),
    outcome: [...new Set([...STATUSES, ...codes])],
    what: distinct(({ target = {} }) => Object.values(target).filter((one) => typeof one === 'string')),
  }
}

/** All entries that match, up to a limit. */
async function allOf(given) {
  const entries = []
  let before
  do {
    const page = await invoke('audit-list', {
      ...given,
      limit: EXPORT_PAGE,
      ...(before !== undefined && { before }),
    })
    entries.push(...page.entries)
    before = page.next
  } while (before !== undefined && entries.length < MOST_EXPORTED)
  return entries
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
  const [decisions, titles] = await Promise.all([
    invoke('audit-list', { ...others, action: DECISION, limit: PAGE }, signal),
    readTitles(signal),
  ])
  const wanted = what.toLowerCase()
  const known = new Set(page.entries.map(({ id }) => id))
  const byTitle = decisions.entries.filter(
    ({ id, target }) => !known.has(id) && titles.get(target?.id)?.toLowerCase().includes(wanted),
  )
  return { ...page, entries: [...page.entries, ...byTitle].toSorted((a, b) => b.at - a.at) }
}

/** The titles of requests by id. */
async function readTitles(signal) {
  const requests = await invoke('approval-list', { status: 'decided', limit: 1_000 }, signal)
  return new Map(requests.map(({ id, title }) => [id, title]))
}

/** The titles of decided requests by id, read once an entry needs them. */
function useTitles(entries) {
  const isNeeded = entries.some(({ action }) => action === DECISION)
  const { value } = useLoaded(async (signal) => (isNeeded ? readTitles(signal) : undefined), [isNeeded])
  return value
}

/** The time links to the entry; the person and the action link to all their entries. */
function Row({ of: entry, query, titles }) {
  const { at, by, via, action, id, status, reason, error, from } = entry
  return html`<tr class=${status}><td class="time"><a data-row class="plain-text" href=${link(['audit', id])}><${Age} at=${at} /> ago</a> <span class="dim"><${Moment} at=${at} /></span></td>
    <td class="by"><${Who} of=${entry} to=${link('audit', { ...query, by })} /><span class="about" title=${from}>${via}</span></td>
    <td class="what"><p><b>${inWords(entry)}</b> <${What} of=${entry} titles=${titles} /></p>
      ${reason && html`<p class="dim"><q>${reason}</q></p>`}${error && html`<p class=${status === 'failed' ? 'error' : 'dim'}>${error}</p>`}
      <p class="about"><a class="plain-text" title=${`Only ${action}`} href=${link('audit', { ...query, action })}>${action}</a></p></td>
    <td class="outcome"><${Result} of=${entry} /></td></tr>`
}
