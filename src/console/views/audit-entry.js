import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Copy, CopyLink, Empty, Facts, Json, Moment, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { authorIn, inWords, Result, What, Who } from './audit-parts.js'
import { useTitles } from './audit-titles.js'
import { Changes } from './changes.js'

/** One entry of the audit log: who, what, why, with which result, and what it changed. */
export function AuditEntryPage({ id }) {
  const loaded = useLoaded(async (signal) => (await invoke('audit-list', { id }, signal)).entries, [id])
  const [entry] = loaded.value ?? []
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="audit" title="Audit" />
    <${Wait} of=${loaded} what="the entry" />
    ${loaded.value && !entry && html`<h1 id="title">Audit</h1><${Empty} title="There is no such entry.">Retention removed it, or the id is wrong.<//>`}
    ${entry && html`<${Entry} of=${entry} />`}
  </section>`
}

function Entry({ of: entry }) {
  const { at, by, via, from, action, outcome, status, reason, error, result, changes, target } = entry
  const { known } = authorIn(entry)
  const titles = useTitles([entry])
  const facts = {
    who: html`<${Who} of=${entry} to=${link('audit', { by })} /> <span class="dim">${known}</span>`,
    via: from ? html`${via} <span class="dim">from ${from}</span>` : via,
    when: html`<${Moment} at=${at} /> <span class="dim"><${Age} at=${at} /> ago</span>`,
    action: html`<a href=${link('audit', { action })}>${action}</a>`,
    object: target && html`<${What} of=${entry} titles=${titles} />`,
    reason: reason && html`<q>${reason}</q>`,
    error: status !== 'done' && html`<span class="error">${error ?? ''}</span> <code>${outcome}</code>`,
    ...Object.fromEntries(Object.entries(result ?? {}).map(([name, value]) => [name, shown(name, value)])),
  }
  const object = Object.values(target ?? {}).find((value) => typeof value === 'string')
  return html`<header class="bar"><h1 id="title">${inWords(entry)} <${Result} of=${entry} /></h1>
      <div class="buttons">${object && html`<a class="button" href=${link('audit', { what: object })}>All about this object</a>`}
        <${CopyLink} /><${Copy} text=${() => JSON.stringify(entry, null, 2)} label="Copy as JSON" /></div></header>
    <${Facts} of=${facts} />
    ${changes && html`<h2>Changes</h2><${Changes} of=${changes} />`}
    <details><summary>Whole entry</summary><${Json} value=${entry} label="Entry" /></details>`
}

function shown(name, value) {
  if (name === 'job') return html`<a href=${link(['jobs', value])}>${value}</a>`
  if (name === 'messages')
    return html`<ul class="plain">${value.map((id) => html`<li key=${id}><a href=${link(['messages', id])}><code>${id}</code></a></li>`)}</ul>`
  return typeof value === 'number' ? value.toLocaleString('en') : String(value)
}
