import { useEffect, useRef, useState } from 'preact/hooks'

/** A row that gets the focus itself, or the link of a row. */
const ROW = '[data-request], [data-key] a, [data-row]'

/**
 * `{ box, toRows }`: Enter in the search of a list calls `toRows(true)`, which moves the focus to
 * the first row within `box` once the list `isReady`, with the rows of this search. `toRows(false)`
 * cancels this when the user continues to type. `given`: the ref of a list that has one.
 */
export function useFirstRow(isReady, given) {
  const own = useRef()
  const box = given ?? own
  const [isWanted, setWanted] = useState(false)
  useEffect(() => {
    if (!isWanted || !isReady) return
    setWanted(false)
    box.current?.querySelector(ROW)?.focus()
  }, [isWanted, isReady])
  return { box, toRows: setWanted }
}
