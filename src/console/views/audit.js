import { useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Badge, Empty, Problem, StoreAway, useLoaded } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'

const PAGE = 100
const FILTERS = [
  ['by', 'Who'],
  ['action', 'Action'],
]

/** Who decided and changed what, newest first. */
export function AuditPage({ query }) {
  const names = [...FILTERS.map(([key]) => key), 'since', 'until']
  const given = Object.fromEntries(names.flatMap((key) => (query[key] ? [[key, query[key]]] : [])))
  const [older, setOlder] = useState({ of: '', entries: [], next: undefined })
  const of = JSON.stringify(given)
  const { value, error, reload } = useLoaded(
    (signal) => invoke('audit-list', { ...given, limit: PAGE }, signal),
    [of],
  )
  if (error)
    return html`<section class="page"><h1>Audit</h1><${Problem} error=${error} retry=${reload} /></section>`
  const more = older.of === of ? older : { entries: [], next: undefined }
  const entries = [...(value?.entries ?? []), ...more.entries]
  const next = more.entries.length > 0 ? more.next : value?.next
  const load = async () => {
    const page = await invoke('audit-list', { ...given, limit: PAGE, before: next })
    setOlder({ of, entries: [...more.entries, ...page.entries], next: page.next })
  }
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Audit</h1>
      <div class="filter">${FILTERS.map(
        ([key, label]) =>
          html`<label class="pick" key=${key}><span>${label}</span><input type="text" value=${query[key] ?? ''} onInput=${(event) => replace('audit', { ...query, [key]: event.target.value })} /></label>`,
      )}
        <${Range} query=${query} set=${(span) => replace('audit', { ...query, ...span })} />
        <button type="button" onClick=${reload}>Reload</button></div></header>
    <${StoreAway} />
    ${value && entries.length === 0 && html`<${Empty} title="No entries.">Decisions and changes are listed here, with who made them.<//>`}
    ${
      entries.length > 0 &&
      html`<div class="audit" tabindex="0" role="region" aria-label="Entries"><table>
      <thead><tr><th scope="col">Age</th><th scope="col">Who</th><th scope="col">By way of</th><th scope="col">Action</th><th scope="col">What</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${entries.map((entry, index) => html`<${Row} key=${`${entry.at} ${index}`} of=${entry} />`)}</tbody></table></div>`
    }
    ${next !== undefined && html`<p><button type="button" onClick=${load}>Show older ones</button></p>`}
  </section>`
}

function Row({ of: { at, by, via, action, target = {}, outcome, from } }) {
  return html`<tr><td class="whole-words"><${Age} at=${at} /></td><td class="whole-words" title=${from}>${by}</td><td>${via}</td><td>${action}</td>
    <td>${Object.entries(target).map(([name, value]) => html`<span key=${name}><span class="dim">${name}</span> <${Value} name=${name} value=${value} /> </span>`)}</td>
    <td><${Badge} kind=${outcome === 'ok' ? 'good' : 'bad'}>${outcome}<//></td></tr>`
}

/** A message leads to its story: who decided, and what came of it. */
function Value({ name, value }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return name === 'messageId' ? html`<a href=${link(['messages', text])}>${text}</a>` : text
}
