import { useEffect, useRef, useState } from 'preact/hooks'

/** The link of a row. */
const ROW = '[data-key] a, [data-row]'

/**
 * `{ box, toRows }`: Enter in the search of a list, which calls `toRows(true)`, moves the focus to
 * the first row within `box`, as soon as the list `isReady`: it has rows, and they are those of the
 * search. `toRows(false)`: somebody types on.
 */
export function useFirstRow(isReady) {
  const box = useRef()
  const [isWanted, setWanted] = useState(false)
  useEffect(() => {
    if (!isWanted || !isReady) return
    setWanted(false)
    box.current?.querySelector(ROW)?.focus()
  }, [isWanted, isReady])
  return { box, toRows: setWanted }
}
