import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/**
 * Loads pages by `load({ before })` until one has no `next`. Starts again when `of` or `turn`
 * changes. After a change of `turn`, the old rows stay until the first page is there.
 */
export function usePages(load, of, turn = 0) {
  const [state, setState] = useState({ of, pages: [], isEnd: false })
  const latest = useRef()
  const more = useCallback(async () => {
    const mine = latest.current
    if (!mine || mine.isBusy || mine.isEnd) return
    mine.isBusy = true
    try {
      const page = await load(mine.next ? { before: mine.next } : {})
      Object.assign(mine, { next: page.next, isEnd: page.next === undefined })
      mine.pages.push(page)
      if (latest.current === mine) setState({ of, pages: [...mine.pages], isEnd: mine.isEnd })
    } catch (error) {
      if (latest.current === mine) setState((last) => ({ ...last, of, error }))
    }
    mine.isBusy = false
    // A new function for each page: the list then calls it again, even if the page added no row.
  }, [of, turn, state.pages.length])
  useEffect(() => {
    latest.current = { pages: [] }
    if (state.of !== of) setState({ of, pages: [], isEnd: false })
    more()
  }, [of, turn])
  return { ...state, more }
}
