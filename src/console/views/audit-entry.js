import { errorInWords, isSaidInWords } from '../../lib/audit-words.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Copy, CopyLink, Empty, Facts, Json, Moment, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { Consequence, SameObject } from './audit-consequence.js'
import { NoteText } from './audit-note.js'
import { authorIn, inWords, NAMELESS, Result, What, Who } from './audit-parts.js'
import { useRequests } from './audit-requests.js'
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
  const requests = useRequests([entry])
  const { job: _, ...results } = result ?? {}
  const facts = {
    by: html`<${Who} of=${entry} to=${link('audit', { by })} /> <span class="dim">${known}</span>`,
    via: from ? html`${via} <span class="dim">from ${from}</span>` : via,
    action: html`<a href=${link('audit', { action })}>${action}</a>`,
    person: NAMELESS.test(action) && 'not recorded, because it would outlast an erasure',
    error:
      (error || status === 'failed') &&
      html`<span class="error">${error && errorInWords(error)}</span> <code>${outcome}</code>`,
    ...Object.fromEntries(Object.entries(results).map(([name, value]) => [name, shown(name, value)])),
  }
  const [, object] =
    Object.entries(target ?? {}).find(
      ([name, value]) => typeof value === 'string' && !isSaidInWords(name, entry),
    ) ?? []
  return html`<header class="bar"><h1 id="title">${inWords(entry)} <${Result} of=${entry} /></h1>
      <div class="buttons">${object && html`<a class="button" href=${link('audit', { what: object })}>All about this object</a>`}
        <${CopyLink} /><${Copy} text=${() => JSON.stringify(entry, null, 2)} label="Copy as JSON" /></div></header>
    <p class="audit-sentence"><b>${authorIn(entry).name}</b> ${lower(inWords(entry))} <${What} of=${entry} requests=${requests} /><${NoteText} of=${entry} />${reason && html`<q>${reason}</q>`}
      <span class="dim"><${Moment} at=${at} />, <${Age} at=${at} /> ago</span></p>
    <${Facts} of=${facts} />
    <${Consequence} of=${entry} />
    ${changes && html`<h2>Changes</h2><${Changes} of=${changes} />`}
    ${object && html`<${SameObject} of=${entry} object=${object} />`}
    <details><summary>Whole entry</summary><${Json} value=${entry} label="Entry" /></details>`
}

function lower(text) {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function shown(name, value) {
  if (name === 'messages')
    return html`<ul class="plain">${value.map((id) => html`<li key=${id}><a href=${link(['messages', id])}><code>${id}</code></a></li>`)}</ul>`
  return typeof value === 'number' ? value.toLocaleString('en') : String(value)
}
