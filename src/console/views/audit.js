import { useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, act, Badge, Empty, Moment, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'

const PAGE = 100
const FILTERS = [
  ['by', 'Who'],
  ['action', 'Action'],
  ['what', 'What'],
]

/** Decisions and changes, newest first. */
export function AuditPage({ query }) {
  const names = [...FILTERS.map(([key]) => key), 'since', 'until']
  const given = Object.fromEntries(names.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  const [older, setOlder] = useState({ of: '', entries: [], next: undefined })
  const of = JSON.stringify(given)
  const loaded = useLoaded((signal) => entriesOf(given, signal), [of])
  const { value, reload } = loaded
  const more = older.of === of ? older : { entries: [], next: undefined }
  const entries = [...(value?.entries ?? []), ...more.entries]
  const next = more.entries.length > 0 ? more.next : value?.next
  const titles = useTitles(entries)
  const load = () =>
    act(async () => {
      const page = await invoke('audit-list', { ...given, limit: PAGE, before: next })
      setOlder({ of, entries: [...more.entries, ...page.entries], next: page.next })
    })
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Audit</h1>
      <div class="filter">${FILTERS.map(
        ([key, label]) =>
          html`<label class="pick" key=${key}><span>${label}</span><input type="text" value=${query[key] ?? ''} onInput=${(event) => replace('audit', { ...query, [key]: event.target.value })} /></label>`,
      )}
        <${Range} query=${query} set=${(span) => replace('audit', { ...query, ...span })} />
        <button type="button" onClick=${reload}>Reload</button></div></header>
    <${StoreAway} />
    <${Wait} of=${loaded} what="the audit log" />
    ${value && entries.length === 0 && (of === '{}' ? html`<${Empty} title="No entries.">Decisions and changes are listed here, with who made them.<//>` : html`<${Empty} title="No entry matches."><a href=${link('audit')}>Clear the filters</a><//>`)}
    ${
      entries.length > 0 &&
      html`<div class="audit" tabindex="0" role="region" aria-label="Entries"><table>
      <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">Via</th><th scope="col">Action</th><th scope="col">What</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${entries.map((entry, index) => html`<${Row} key=${`${entry.at} ${index}`} of=${entry} query=${query} titles=${titles} />`)}</tbody></table></div>`
    }
    ${next !== undefined && html`<p><button type="button" onClick=${load}>Show older ones</button></p>`}
  </section>`
}

/** The first page. The log has no titles of requests, so decisions whose title has the wanted text are added here. */
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
  const isKnown = (entry) =>
    page.entries.some(({ at, target }) => at === entry.at && target?.id === entry.target?.id)
  const byTitle = decisions.entries.filter(
    (entry) => !isKnown(entry) && titles.get(entry.target?.id)?.toLowerCase().includes(wanted),
  )
  return { ...page, entries: [...page.entries, ...byTitle].toSorted((a, b) => b.at - a.at) }
}

const DECISION = 'approval-decide'

/** The titles of requests by id. */
async function readTitles(signal) {
  const requests = await invoke('approval-list', { limit: 1_000 }, signal)
  return new Map(requests.map(({ id, title }) => [id, title]))
}

/** The person and the action link to their entries. */
function Row({ of: { at, by, via, action, target = {}, outcome, from }, query, titles }) {
  return html`<tr><td class="time whole-words"><${Moment} at=${at} /> <span class="dim"><${Age} at=${at} /> ago</span></td>
    <td class="by whole-words" title=${from}><${Only} text=${by} to=${{ ...query, by }} /></td><td class="via">${via}</td>
    <td class="action"><${Only} text=${action} to=${{ ...query, action }} />${isDryRun(action, target) && html` <${Badge}>dry run<//>`}</td>
    <td class="target"><${What} action=${action} target=${target} titles=${titles} /></td>
    <td class="outcome"><${Badge} kind=${outcome === 'ok' ? 'good' : 'bad'}>${outcome}<//></td></tr>`
}

/** Whether it only counted what it would change. */
function isDryRun(action, { dryRun, confirm }) {
  return dryRun === true || (action === 'person-erase' && confirm !== true)
}

function Only({ text, to }) {
  return html`<a class="plain-text" title=${`Only ${text}`} href=${link('audit', to)}>${text}</a>`
}

/** The addresses of the objects in an entry, by the name of the argument. */
const PAGES = {
  messageId: (id) => ['messages', id],
  gateway: (name) => ['gateways', name],
  skill: (name) => ['skills', name],
  route: (name) => ['configuration', name],
  conversation: (name, { gateway }) => (gateway ? ['conversations', gateway, name] : undefined),
  queue: (name, { topic }) => (topic ? ['queues', topic, name] : undefined),
}
/** The same for arguments called `id` or `name`, whose meaning depends on the action. */
const OF_ACTIONS = [
  [/^dead-letter-/, 'id', (id) => (UUID.test(id) ? ['messages', id] : undefined)],
  [/^approval-/, 'id', () => ['approvals']],
  [/^subscription-/, 'name', (name) => pushOf(name)],
]

function pushOf(name) {
  const found = now.value?.subscriptions?.find((each) => each.name === name)
  return found && ['queues', found.topic, name]
}

function pageOf(action, target, name, text) {
  const ofAction = OF_ACTIONS.find(([pattern, argument]) => argument === name && pattern.test(action))
  return (ofAction?.[2] ?? PAGES[name])?.(text, target)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const NAMES = { messageId: 'message', id: '', do: '' }
const TIMES = new Set(['since', 'until', 'at'])
/** Flags that an action always has: they say nothing. */
const ALWAYS = new Set(['all', 'confirm'])

/** The objects of an entry. A decision shows the title of its request, which the log itself does not keep. */
function What({ action, target, titles }) {
  const { id, ...others } = target
  const title = action === DECISION ? titles?.get(id) : undefined
  const shown = Object.entries(title ? others : target).filter(([name]) => !ALWAYS.has(name))
  return html`${title && html`<a href=${link('approvals')}><b title=${id}>${title}</b></a> `}${shown.map(([name, value]) => html`<span key=${name}><span class="dim">${NAMES[name] ?? name}</span> <${Value} name=${name} value=${value} action=${action} target=${target} /> </span>`)}`
}

function Value({ name, value, action, target }) {
  if (TIMES.has(name)) return html`<${When} at=${value} />`
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const short = UUID.test(text) ? html`<code title=${text}>…${text.slice(-8)}</code>` : text
  const path = typeof value === 'string' ? pageOf(action, target, name, text) : undefined
  return path ? html`<a href=${link(path)}>${short}</a>` : short
}

/** A time of an argument: Unix ms, ISO 8601, or an age such as `2h`, which stays. */
function When({ at }) {
  const time = new Date(at)
  return Number.isNaN(time.getTime()) ? String(at) : html`<${Moment} at=${time.getTime()} />`
}

/** The titles of decided requests by id, read once an entry needs them. */
function useTitles(entries) {
  const isNeeded = entries.some(({ action }) => action === DECISION)
  const { value } = useLoaded(async (signal) => (isNeeded ? readTitles(signal) : undefined), [isNeeded])
  return value
}
