import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { html } from './html.js'
import { onKey } from './keys.js'
import { link, replace, route, titles } from './router.js'

/**
 * The last list, for navigation from its pages. `rows()`: `{ href, key }` of each row. `more()`:
 * loads further rows. `chosen(key)`: selects a row for going back to the list.
 */
export const trail = signal()

/** Distance from the end, in rows, at which more are loaded. */
const NEAR = 3

function whereOn(list) {
  const { path, query } = route.peek()
  const here = link(path, query)
  const rows = list?.rows() ?? []
  return { rows, at: rows.findIndex(({ href }) => href === here) }
}

/**
 * Links back, and to the neighbours in the list, also with `j` and `k`. `to` and `title`: the list,
 * if the page was opened directly.
 */
export function Back({ to, title }) {
  const { from } = route.value
  const { rows, at } = whereOn(trail.value)
  useEffect(() => {
    const ends = [onKey('j', 'next of the list', () => move(1)), onKey('k', 'one before', () => move(-1))]
    return () => {
      for (const end of ends) end()
    }
  }, [])
  const back = (event) => {
    if (from.length === 0 || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    history.back()
  }
  return html`<nav class="ways" aria-label="Way back">
    <a class="back" data-back href=${link(to)} onClick=${back}>← ${link(from) === link(to) ? title : (titles.get(from[0]) ?? title)}</a>
    ${
      at >= 0 &&
      rows.length > 1 &&
      html`<span class="neighbours">
        <button type="button" disabled=${at === 0} onClick=${() => move(-1)} title="Previous (k)" aria-label="Previous">↑</button>
        <button type="button" disabled=${at === rows.length - 1} onClick=${() => move(1)} title="Next (j)" aria-label="Next">↓</button>
        <span class="dim">${(at + 1).toLocaleString('en')} of ${rows.length.toLocaleString('en')}</span></span>`
    }
  </nav>`
}

function move(by) {
  const list = trail.peek()
  const { rows, at } = whereOn(list)
  const next = at < 0 ? undefined : rows[at + by]
  if (!next) return
  list.chosen(next.key)
  replace(next.href)
  if (at + by > rows.length - NEAR) list.more?.()
}
