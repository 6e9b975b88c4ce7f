import { useEffect, useRef, useState } from 'preact/hooks'
import { changes } from './live.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { useLoaded } from './parts.js'

/**
 * Loads dead letters, and reloads them when they change, unless someone is working on the shown
 * ones; then it offers to reload. Changes of other dead letters do not count.
 */
export function useCalmList(load, needs) {
  const loaded = useLoaded(load, needs)
  const { value, reload } = loaded
  const box = useRef()
  const [isDue, setDue] = useState(false)
  const change = changes.dead.value
  const known = useRef(change)
  useEffect(() => {
    if (change === known.current) return
    known.current = change
    const end = new AbortController()
    load(end.signal)
      .then((next) => !end.signal.aborted && setDue(JSON.stringify(next) !== JSON.stringify(value)))
      .catch(() => undefined)
    return () => end.abort(NO_LONGER_NEEDED)
  }, [change])
  useEffect(() => {
    if (!isDue) return
    const look = () => {
      if (box.current?.matches(':hover') || box.current?.contains(document.activeElement)) return
      setDue(false)
      reload()
    }
    look()
    const timer = setInterval(look, 500)
    return () => clearInterval(timer)
  }, [isDue])
  const show = () => {
    setDue(false)
    reload()
  }
  return { loaded, box, isDue, show }
}
