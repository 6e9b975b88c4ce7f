import { effect, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { person } from './api.js'
import { html } from './html.js'
import { onKey } from './keys.js'
import { link, replace, route, titles } from './router.js'

/** Where the rows are kept, so that a reloaded page still knows its neighbours. */
const STORED = 'trivium.trail'
/** Maximum number of kept rows. */
const MAX_STORED = 2_000

/**
 * The last list, for navigation between the pages opened from it. `path` and `query`: its address.
 * `rows()`: `{ href, key, part }` of each row; `part`: the name of its part of the list, if that is
 * complete. `more()`: loads further rows. `isWhole()`: whether these are all. `chosen(key)`: the row
 * to select on going back to the list.
 */
export const trail = signal(restored())

/** The trail of this tab before the page was reloaded. Its list is no longer there to load more. */
function restored() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED))
    return stored && { ...stored, rows: () => stored.rows, isWhole: () => stored.isWhole, chosen() {} }
  } catch {
    return undefined
  }
}

addEventListener('pagehide', () => {
  if (!trail.peek()) return
  const { path, query, title, rows, isWhole } = trail.peek()
  const all = rows()
  const kept = {
    path,
    query,
    title,
    rows: all.slice(0, MAX_STORED),
    isWhole: isWhole() && all.length <= MAX_STORED,
  }
  try {
    sessionStorage.setItem(STORED, JSON.stringify(kept))
  } catch {
    // The storage is full or switched off: the page then has no neighbours after a reload.
  }
})

// The next person who signs in to this tab does not get it.
effect(() => {
  if (person.value !== null) return
  trail.value = undefined
  try {
    sessionStorage.removeItem(STORED)
  } catch {
    // The storage is switched off: it has no rows.
  }
})

/**
 * Makes the rows of a table available to the page that is opened from it. `rows`: `{ href, key }` of
 * each; `isWhole`: whether the list is complete; `title`: of the page, unless it is a view.
 */
export function keepTrail(rows, isWhole, title) {
  const { path, query } = route.peek()
  trail.value = { path, query, title, rows: () => rows, isWhole: () => isWhole, chosen() {} }
}

/** Distance from the end, in rows, at which more are loaded. */
const LOAD_DISTANCE = 3

function whereOn(list) {
  const { path, query, isDirect } = route.peek()
  const here = link(path, query)
  const rows = (!isDirect && list?.rows()) || []
  return { rows, at: rows.findIndex(({ href }) => href === here) }
}

/**
 * The views of a person's messages and requests. Others, such as an erasure, do not name people.
 */
const OF_PERSON = new Set(['approvals', 'conversations', 'messages', 'dead-letters'])

/** The previous page, if it is that of a person, a job or a group: who looks at one of its rows goes back to it. */
function ownerBefore({ from, before, path }) {
  if (!before) return undefined
  const isPerson = from[0] === 'people' && /[?&]who=/.test(before.hash)
  if (isPerson) return OF_PERSON.has(path[0]) ? before : undefined
  const isOwner = (from[0] === 'jobs' && from.length > 1) || (from[0] === 'queues' && from.length > 2)
  const isRow = isOwner && OF_OWNER.has(path[0]) && path.length > 1
  return isRow ? { ...before, title: from[0] === 'jobs' ? 'Job' : from[2] } : undefined
}

/** The pages of what a job or group has in its rows. */
const OF_OWNER = new Set(['messages', 'dead-letters'])

/**
 * A link to the parent of a page, wherever the page was opened from, or to the person, job
 * or group whose page it was opened from. If the parent is the previous page, it is shown as it was left. If the page was opened from a list, buttons beside the link
 * (and `j` and `k`) lead to the neighbours in that list; it is named if it is not the parent. `to`:
 * the path of the parent; `title`: its name, unless it is a view.
 */
export function Back({ to, title = titles.get([to].flat()[0]) }) {
  const { from } = route.value
  const owner = ownerBefore(route.value)
  const { rows, at } = whereOn(trail.value)
  const hasNeighbours = at >= 0
  useLayoutEffect(() => {
    // On a page without neighbours, the keys stay free for its rows.
    if (!hasNeighbours) return
    const ends = [
      onKey('j', 'next of the list', () => move(1)),
      onKey('k', 'previous of the list', () => move(-1)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [hasNeighbours])
  const parent = link(to)
  const back = (event) => {
    if ((!owner && link(from) !== parent) || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    history.back()
  }
  return html`<nav class="ways" aria-label="Way back">
    <a class="back" data-back href=${owner?.hash ?? parent} onClick=${back}>← ${owner?.title || title}</a>
    ${
      at >= 0 &&
      rows.length > 1 &&
      html`<span class="neighbours">
        <button type="button" disabled=${at === 0} onClick=${() => move(-1)} title="Previous (k)" aria-label="Previous">↑</button>
        <button type="button" disabled=${at === rows.length - 1} onClick=${() => move(1)} title="Next (j)" aria-label="Next">↓</button>
        <span class="dim">${placeIn(trail.value, rows, at)}<${OtherList} list=${trail.value} parent=${owner ? link(from) : parent} /></span></span>`
    }
  </nav>`
}

/** `2 of 4 for a person`, `2 of 8`, or nothing if the number of rows is not known. */
function placeIn(list, rows, at) {
  const { part } = rows[at]
  const among = part === undefined ? rows : rows.filter((row) => row.part === part)
  if (part === undefined && !list.isWhole()) return ''
  const place = among.indexOf(rows[at]) + 1
  return `${place.toLocaleString('en')} of ${among.length.toLocaleString('en')}${part ? ` ${part}` : ''}`
}

/** The list of the neighbours, if it is not the parent. */
function OtherList({ list: { path, query, title = titles.get(path[0]) }, parent }) {
  if (link(path) === parent) return null
  return html` in <a href=${link(path, query)}>${title}</a>`
}

function move(by) {
  const list = trail.peek()
  const { rows, at } = whereOn(list)
  const next = at < 0 ? undefined : rows[at + by]
  if (!next) return
  moveTo(next.href)
  if (at + by > rows.length - LOAD_DISTANCE) list.more?.()
}

/** Shows another page instead of this one, and selects it in the list if it is there. */
export function moveTo(href) {
  const list = trail.peek()
  const row = list?.rows().find((each) => each.href === href)
  if (row) list.chosen(row.key)
  replace(href)
}
