import { useEffect, useRef, useState } from 'preact/hooks'

/** Interval (ms) of attempts to show a new order while the list is in use. */
const RETRY_INTERVAL = 500

/**
 * The rows of a table in the order that they had, while somebody points at its body, has focused a row
 * or has scrolled past the first one. The rows are updated in their places, and `isDue` offers the new
 * order. `key` changes with what the user chose, such as another order, which is shown immediately.
 */
export function useHeldOrder(rows, { key, keyOf, box }) {
  const held = useRef({})
  const [, setTurn] = useState(0)
  const { key: last, rows: shown = [] } = held.current
  const isSame = rows.length === shown.length && rows.every((row, at) => keyOf(row) === keyOf(shown[at]))
  const isDue = last === key && shown.length > 0 && !isSame && isInUse(box.current)
  const known = isDue && new Map(rows.map((row) => [keyOf(row), row]))
  held.current = { key, rows: isDue ? shown.map((row) => known.get(keyOf(row)) ?? row) : rows }
  const render = () => setTurn((turn) => turn + 1)
  useEffect(() => {
    if (!isDue) return undefined
    const timer = setInterval(() => isInUse(box.current) || render(), RETRY_INTERVAL)
    return () => clearInterval(timer)
  }, [isDue])
  const apply = () => {
    held.current = {}
    render()
  }
  return { rows: held.current.rows, isDue, apply }
}

function isInUse(body) {
  if (!body) return false
  const isScrolled = body.getBoundingClientRect().top < 0
  return isScrolled || body.matches(':hover') || body.contains(document.activeElement)
}
