import { useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { Age, Badge, fullTime, took } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** The time of day, with the date unless that is today. */
export function clockOf(at, seconds = {}) {
  const date = new Date(at)
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...seconds })
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? time : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}

/** The pages of callers, by the kind in front of their names. */
const PAGES = {
  route: (name) => ['configuration', name],
  skill: (name) => ['skills', name],
  schedule: (name) => ['schedules', name],
}

/** A caller such as `route orders`, with a link to it. */
export function Caller({ by }) {
  const [, kind, name] = /^(route|skill|schedule) (.+)$/.exec(by) ?? []
  return kind ? html`${kind} <a href=${link(PAGES[kind](name))}>${name}</a>` : by
}

/** Runs that have not ended, oldest first. */
export function Running({ of }) {
  return html`<h2>Running now</h2><div class="scrolls" tabindex="0" role="region" aria-label="Running now"><table class="runs">
    <thead><tr><th scope="col">started</th><th scope="col">outcome</th><th scope="col">called by</th><th scope="col">message</th></tr></thead>
    <tbody>${of.map(
      ({ since, by, messageId }, index) => html`<tr key=${`${since} ${index}`}>
      <td data-label="started" title=${fullTime(since)}>${clockOf(since, { second: '2-digit' })}</td>
      <td class="outcome"><${Badge} kind="busy">running<//> <span class="dim">for <${Age} at=${since} /></span></td>
      <td class="by"><${Caller} by=${by} /></td><td><${Message} id=${messageId} at=${since} /></td></tr>`,
    )}</tbody></table></div>`
}

/** Number of runs before `Show all`. */
const SHOWN_RUNS = 8

/** Runs that have ended, newest first. */
export function Runs({ of: recent }) {
  const [isAll, setAll] = useState(false)
  const shown = isAll ? recent : recent.slice(0, SHOWN_RUNS)
  return html`<h2>Last runs</h2><div class="scrolls" tabindex="0" role="region" aria-label="Last runs"><table class="runs">
    <thead><tr><th scope="col">started</th><th scope="col">ended</th><th scope="col">outcome</th><th scope="col" class="number">took</th><th scope="col">called by</th><th scope="col">message</th></tr></thead>
    <tbody>${shown.map(
      ({ at, ms, by, messageId, code, error }, index) => html`<tr key=${`${at} ${index}`}>
      <td data-label="started" title=${fullTime(at - ms)}>${clockOf(at - ms, { second: '2-digit' })}</td>
      <td class="whole-words" data-label="ended" title=${fullTime(at)}>${clockOf(at, { second: '2-digit' })} <span class="dim"><${Age} at=${at} /> ago</span></td>
      <td class="outcome">${code ? html`<${Badge} kind="bad">${code}<//> <span class="error">${error}</span>` : html`<${Badge} kind="good">ok<//>`}</td>
      <td class="number">${took(ms)}</td><td class="by"><${Caller} by=${by} /></td><td><${Message} id=${messageId} at=${at} /></td></tr>`,
    )}</tbody></table></div>
    ${recent.length > shown.length && html`<p><button type="button" onClick=${() => setAll(true)}>Show all ${recent.length}</button></p>`}`
}

function Message({ id, at }) {
  return (
    id &&
    html`<a href=${link(['messages', id])} aria-label=${`open the message of ${clockOf(at, { second: '2-digit' })}`}>open</a>`
  )
}
