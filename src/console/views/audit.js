import { useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, act, Badge, Empty, StoreAway, useLoaded, Wait } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'

const PAGE = 100
const FILTERS = [
  ['by', 'Who'],
  ['action', 'Action'],
]

/** Decisions and changes, newest first. */
export function AuditPage({ query }) {
  const names = [...FILTERS.map(([key]) => key), 'since', 'until']
  const given = Object.fromEntries(names.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  const [older, setOlder] = useState({ of: '', entries: [], next: undefined })
  const of = JSON.stringify(given)
  const loaded = useLoaded((signal) => invoke('audit-list', { ...given, limit: PAGE }, signal), [of])
  const { value, reload } = loaded
  const more = older.of === of ? older : { entries: [], next: undefined }
  const entries = [...(value?.entries ?? []), ...more.entries]
  const next = more.entries.length > 0 ? more.next : value?.next
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
    ${value && entries.length === 0 && html`<${Empty} title="No entries.">Decisions and changes are listed here, with who made them.<//>`}
    ${
      entries.length > 0 &&
      html`<div class="audit" tabindex="0" role="region" aria-label="Entries"><table>
      <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">Via</th><th scope="col">Action</th><th scope="col">What</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${entries.map((entry, index) => html`<${Row} key=${`${entry.at} ${index}`} of=${entry} query=${query} />`)}</tbody></table></div>`
    }
    ${next !== undefined && html`<p><button type="button" onClick=${load}>Show older ones</button></p>`}
  </section>`
}

/** The person and the action link to their entries. */
function Row({ of: { at, by, via, action, target = {}, outcome, from }, query }) {
  return html`<tr><td class="time whole-words">${new Date(at).toLocaleString('en-GB', TIME)} <span class="dim"><${Age} at=${at} /> ago</span></td>
    <td class="by whole-words" title=${from}><${Only} text=${by} to=${{ ...query, by }} /></td><td class="via">${via}</td>
    <td class="action"><${Only} text=${action} to=${{ ...query, action }} />${isDryRun(action, target) && html` <${Badge}>dry run<//>`}</td>
    <td class="target">${Object.entries(target).map(([name, value]) => html`<span key=${name}><span class="dim">${name}</span> <${Value} name=${name} value=${value} /> </span>`)}</td>
    <td class="outcome"><${Badge} kind=${outcome === 'ok' ? 'good' : 'bad'}>${outcome}<//></td></tr>`
}

/** Whether it only counted what it would change. */
function isDryRun(action, { dryRun, confirm }) {
  return dryRun === true || (action === 'person-erase' && confirm !== true)
}

const TIME = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' }

function Only({ text, to }) {
  return html`<a class="plain-text" title=${`Only ${text}`} href=${link('audit', to)}>${text}</a>`
}

/** Pages of the objects in an entry. */
const PAGES = { messageId: 'messages', gateway: 'gateways', skill: 'skills' }

function Value({ name, value }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return PAGES[name] ? html`<a href=${link([PAGES[name], text])}>${text}</a>` : text
}
