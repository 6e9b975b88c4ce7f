import { useLayoutEffect } from 'preact/hooks'
import { onLeave, route } from './router.js'

/** Entries of the history whose places are remembered. */
const MOST = 50
/** Ms that what was there may take to be there again. */
const PATIENCE = 5_000

/** What is remembered of each entry of the history, by name. */
const known = new Map()

/** What is remembered of an entry by a name: an object to write into. It is the same one when somebody comes back. */
export function remembered(entry, name) {
  const all = known.get(entry) ?? new Map()
  known.delete(entry)
  known.set(entry, all)
  for (const oldest of known.keys()) if (known.size > MOST) known.delete(oldest)
  if (!all.has(name)) all.set(name, {})
  return all.get(name)
}

onLeave((entry) => {
  const main = document.getElementById('main')
  if (!main) return
  const followed = document.activeElement?.closest('main a[href]')
  // A list remembers its own rows.
  const href = followed?.closest('.list') ? undefined : followed?.getAttribute('href')
  Object.assign(remembered(entry, 'page'), { top: main.scrollTop, href })
})

/** Shows each place from its top, and one that somebody comes back to as they left it, with the link that they followed. */
export function usePlace() {
  const { entry, path } = route.value
  useLayoutEffect(() => {
    const main = document.getElementById('main')
    const { top = 0, href } = remembered(entry, 'page')
    if (!main) return
    main.scrollTop = top
    if (top === 0 && href === undefined) return
    const selector = href && `a[href="${CSS.escape(href)}"]`
    const look = () => {
      main.scrollTop = top
      const followed = selector && main.querySelector(selector)
      const isFree = [document.body, main].includes(document.activeElement)
      if (followed && isFree) followed.focus({ preventScroll: true })
      if ((followed || !selector) && Math.abs(main.scrollTop - top) < 2) stop()
    }
    const observer = new MutationObserver(look)
    const stop = () => {
      observer.disconnect()
      clearTimeout(timer)
      for (const event of ['wheel', 'pointerdown', 'keydown']) removeEventListener(event, stop, true)
    }
    const timer = setTimeout(stop, PATIENCE)
    for (const event of ['wheel', 'pointerdown', 'keydown']) addEventListener(event, stop, true)
    observer.observe(main, { childList: true, subtree: true })
    look()
    return stop
  }, [entry, path.join('/')])
}
