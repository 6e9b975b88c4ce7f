import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { html } from './html.js'
import { onKey } from './keys.js'
import { remembered } from './places.js'
import { route } from './router.js'
import { trail } from './trail.js'

/** Number of rows that are rendered above and below the visible ones. */
const SPARE_ROWS = 10
/** Distance from the end, in rows, at which more are loaded. */
const LOAD_DISTANCE = 30
/** Height in px of a line above a row. */
const HEAD = 26
const NO_HEADS = new Map()

/**
 * A virtual list: only visible rows are in the page. `row(item)`: content of a row, with the link
 * or button for Enter. Rows are `height` px high and identified by `keyOf(item)`. `j` and `k` move.
 * `onEnd`: called near the end. `isInUse`: a ref; the list sets it to a function that returns
 * whether someone points at a row, has focused one, or has scrolled. Then nothing should be
 * inserted above.
 *
 * The list restores its position and the opened row. For the buttons that lead from one opened row
 * to the next: `hrefOf(item)`, the address of a row, and `latestRows()`, the current items of a
 * list that grows while it is hidden. `partOf(item)`: the name of the part of the list that the
 * item is in, if all rows of that part are known. `isWhole`: false if more can be loaded than
 * `items`. `heads`: lines above rows, by the index of the row.
 */
export function List({
  items,
  isWhole,
  row,
  keyOf,
  hrefOf,
  height,
  label,
  onEnd,
  isInUse,
  latestRows,
  partOf,
  heads = NO_HEADS,
}) {
  const box = useRef()
  const [view, setView] = useState({ top: 0, height: 800 })
  const [chosen, setChosen] = useState()
  const memory = useMemo(() => remembered(route.peek().entry, label), [])
  /** The position to restore; undefined once it is restored, or the user has moved. */
  const wanted = useRef({ ...memory })
  const chosenAt = chosen === undefined ? -1 : items.findIndex((item) => keyOf(item) === chosen)

  const measure = useView(box, setView, (top) => {
    if (!wanted.current) memory.top = top
  })
  const topOf = (at) => at * height + HEAD * [...heads.keys()].filter((each) => each <= at).length
  useRestore({ box, wanted, items, keyOf, height, topOf, setChosen })
  useTrail({ items, isWhole, keyOf, hrefOf, partOf, onEnd, memory, latestRows })

  if (isInUse)
    isInUse.current = () => {
      const { current } = box
      return (
        current !== null &&
        (current.scrollTop > 0 || current.matches(':hover') || current.contains(document.activeElement))
      )
    }

  const from = Math.max(0, Math.floor(view.top / height) - SPARE_ROWS)
  const to = Math.min(items.length, Math.ceil((view.top + view.height) / height) + SPARE_ROWS)
  useEffect(() => {
    if (to > items.length - LOAD_DISTANCE) onEnd?.()
  }, [to, items.length, onEnd])

  const shown = []
  for (let at = from; at < to; at++) shown.push(at)
  // The focused row must stay in the page.
  if (chosenAt >= 0 && (chosenAt < from || chosenAt >= to)) shown.push(chosenAt)

  useMoves({ box, items, keyOf, height, topOf, chosen: chosenAt < 0 ? undefined : chosen, setChosen })
  const stopRestoring = () => {
    wanted.current = undefined
  }
  return html`<div class="list" ref=${box} tabindex="-1" onScroll=${measure}
    onFocusIn=${(event) => {
      const key = event.target.closest('[data-key]')?.dataset.key
      setChosen(key)
      memory.chosen = key
    }} onWheel=${stopRestoring} onPointerDown=${stopRestoring} onKeyDown=${stopRestoring} onFocusOut=${(
      event,
    ) => {
      if (!box.current?.contains(event.relatedTarget)) setChosen(undefined)
    }}>
    <div role="list" aria-label=${label} style=${{ height: `${topOf(items.length)}px`, position: 'relative' }}>
      ${shown.map(
        (
          at,
        ) => html`<div key=${keyOf(items[at])} role="listitem" class="row" aria-posinset=${at + 1} aria-setsize=${items.length}
        data-key=${keyOf(items[at])} style=${{ height: `${height}px`, transform: `translateY(${topOf(at)}px)` }}>${row(items[at])}${heads.has(at) && html`<span class="row-head" style=${{ height: `${HEAD}px`, top: `-${HEAD}px` }}>${heads.get(at)}</span>`}</div>`,
      )}
    </div>
  </div>`
}

/** Tracks the visible part of a list; returns a function that measures it. */
function useView(box, setView, remember) {
  const measure = () => {
    const { scrollTop, clientHeight } = box.current
    remember(scrollTop)
    setView((last) =>
      last.top === scrollTop && last.height === clientHeight
        ? last
        : { top: scrollTop, height: clientHeight },
    )
  }
  useLayoutEffect(() => {
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  return measure
}

/** Moves with `j` and `k`. The selected row is focused and visible. */
function useMoves({ box, items, keyOf, height, topOf, chosen, setChosen }) {
  /** A second key may arrive before the first one is rendered. */
  const latest = useRef()
  latest.current = { items, height, topOf, chosen }
  const move = (by) => {
    const { items, height, topOf, chosen } = latest.current
    const { current } = box
    const at = items.findIndex((item) => keyOf(item) === chosen)
    const next =
      at < 0 ? Math.ceil(current.scrollTop / height) : Math.min(Math.max(at + by, 0), items.length - 1)
    if (items[next] === undefined) return
    latest.current.chosen = keyOf(items[next])
    setChosen(latest.current.chosen)
    const top = topOf(next)
    // The first row brings its head along.
    if (top < current.scrollTop || next === 0) current.scrollTop = next === 0 ? 0 : top
    else if (top + height > current.scrollTop + current.clientHeight)
      current.scrollTop = top + height - current.clientHeight
  }
  useLayoutEffect(() => {
    const rows = chosen === undefined ? [] : box.current.querySelectorAll('[data-key]')
    const mine = [...rows].find(({ dataset }) => dataset.key === chosen)
    if (mine && !mine.contains(document.activeElement))
      mine.querySelector('a, button')?.focus({ preventScroll: true })
  }, [chosen])
  useLayoutEffect(() => {
    const hasRows = () => Boolean(box.current?.querySelector('[data-key]'))
    const ends = [
      onKey('j', 'next row', () => move(1), hasRows),
      onKey('k', 'previous row', () => move(-1), hasRows),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [])
}

/** Restores the position of a list once enough rows are loaded. */
function useRestore({ box, wanted, items, keyOf, height, topOf, setChosen }) {
  useLayoutEffect(() => {
    if (!wanted.current || items.length === 0) return
    const { top = 0, chosen } = wanted.current
    const { current } = box
    current.scrollTop = top
    const at = chosen === undefined ? -1 : items.findIndex((item) => keyOf(item) === chosen)
    if (at >= 0) {
      const own = topOf(at)
      const isSeen = own >= current.scrollTop && own + height <= current.scrollTop + current.clientHeight
      if (!isSeen) current.scrollTop = own - (current.clientHeight - height) / 2
      setChosen(chosen)
    }
    if (at >= 0 || Math.abs(current.scrollTop - top) < 2) wanted.current = undefined
  }, [items.length])
}

/** Makes the rows available to the pages opened from them. */
function useTrail({ items, isWhole, keyOf, hrefOf, partOf, onEnd, memory, latestRows }) {
  const latest = useRef()
  latest.current = { items: latestRows ?? (() => items), onEnd, isWhole, partOf }
  useEffect(() => {
    if (!hrefOf) return
    const { path, query } = route.peek()
    trail.value = {
      ...{ path, query },
      rows: () => {
        const { items, partOf } = latest.current
        return items().map((item) => ({ href: hrefOf(item), key: keyOf(item), part: partOf?.(item) }))
      },
      more: () => latest.current.onEnd?.(),
      isWhole: () => latest.current.isWhole ?? true,
      chosen(key) {
        memory.chosen = key
      },
    }
  }, [])
}
