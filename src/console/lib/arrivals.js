import { useEffect, useRef, useState } from 'preact/hooks'
import { openStream } from './api.js'

/** Minimum time (ms) between reloads, and as a multiple of the duration of the last one. */
const INTERVAL = { ms: 2_000, rest: 4 }

/**
 * Follows the messages of a filter, as the lists of messages and conversations do. `turn` changes after
 * new messages and outcomes, but not while a read runs that `paced(load)` makes: on a busy daemon, it
 * would never end. Nothing is followed without a `filter`.
 */
export function useArrivals(filter) {
  const [turn, setTurn] = useState(0)
  const reads = useRef({ running: 0, took: 0 })
  useEffect(() => {
    if (!filter) return undefined
    return follow(filter, reads.current, () => setTurn((last) => last + 1))
  }, [JSON.stringify(filter)])
  const paced = (load) => async (signal) => {
    const began = performance.now()
    reads.current.running++
    try {
      return await load(signal)
    } finally {
      reads.current.running--
      reads.current.took = performance.now() - began
    }
  }
  return { turn, paced }
}

/** Calls `reload` some time after messages arrived; when the page is visible again, if it was hidden. */
function follow(filter, reads, reload) {
  let timer
  let isDue = false
  const look = () => {
    timer = undefined
    isDue = document.hidden
    if (isDue) return
    if (reads.running > 0) soon()
    else reload()
  }
  const soon = () => {
    timer ??= setTimeout(look, Math.max(INTERVAL.ms, reads.took * INTERVAL.rest))
  }
  const onVisibility = () => isDue && !document.hidden && soon()
  const close = openStream(
    { ...filter, only: 'message,outcome' },
    { message: soon, outcome: soon, gap: soon, state: (isLive) => isLive && soon() },
  )
  document.addEventListener('visibilitychange', onVisibility)
  return () => {
    close()
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onVisibility)
  }
}
