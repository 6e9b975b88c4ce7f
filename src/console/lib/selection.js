import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { onKey } from './keys.js'

/**
 * Selected rows of a list, by the keys of its `items`. `x` selects the focused row; a click with
 * Shift selects all rows between the last one and this one. Escape clears the selection. Rows that
 * are no longer listed do not count.
 */
export function useSelection(items, keyOf) {
  const [keys, setKeys] = useState(() => new Set())
  const last = useRef()
  const latest = useRef()
  const toggle = (key, isRange = false) => {
    const { items, keys } = latest.current
    const next = new Set(keys)
    const isOn = !keys.has(key)
    for (const each of isRange ? between(items.map(keyOf), last.current, key) : [key]) {
      if (isOn) next.add(each)
      else next.delete(each)
    }
    last.current = key
    setKeys(next)
  }
  latest.current = { items, keys, toggle }
  useLayoutEffect(
    () =>
      onKey('x', 'select the row', () => {
        const key = document.activeElement?.closest('[data-key]')?.dataset.key
        if (key !== undefined) latest.current.toggle(key)
      }),
    [],
  )
  const hasChosen = keys.size > 0 && items.some((item) => keys.has(keyOf(item)))
  useLayoutEffect(() => {
    if (hasChosen) return onKey('Escape', 'clear the selection', () => setKeys(new Set()))
  }, [hasChosen])
  return {
    has: (key) => keys.has(key),
    toggle,
    chosen: keys.size === 0 ? [] : items.filter((item) => keys.has(keyOf(item))),
    all: () => setKeys(new Set(items.map(keyOf))),
    clear: () => setKeys(new Set()),
    /** Takes items out of the selection. */
    drop: (gone) => setKeys((last) => last.difference(new Set(gone.map(keyOf)))),
  }
}

function between(keys, from, to) {
  const a = keys.indexOf(from)
  const b = keys.indexOf(to)
  return a < 0 || b < 0 ? [to] : keys.slice(Math.min(a, b), Math.max(a, b) + 1)
}

/** The checkbox of a row. */
export function Select({ of: { has, toggle }, id, label }) {
  return html`<input type="checkbox" class="select" tabindex="-1" aria-label=${label} checked=${has(id)} onClick=${(event) => toggle(id, event.shiftKey)} />`
}

/** What can be done with the selected rows, over the end of the list. */
export function SelectionBar({ of: { chosen, clear, all }, children }) {
  if (chosen.length === 0) return null
  return html`<div class="selection" role="group" aria-label="Selected rows"><b role="status">${chosen.length.toLocaleString('en')} selected</b>
    <div class="buttons">${children}<button type="button" onClick=${all}>Select all listed</button><button type="button" onClick=${clear}>Clear</button></div></div>`
}
