import { useLayoutEffect } from 'preact/hooks'
import { onLeave, route } from './router.js'

/** Maximum number of history entries with a remembered position. */
const MOST = 50
/** How long (ms) to wait for the previous content. */
const PATIENCE = 5_000

/** Remembered data per history entry, by name. */
const known = new Map()

/** The remembered object of a history entry, by name. It is the same object after going back. */
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
  // Lists remember their rows themselves.
  const href = followed?.closest('.list') ? undefined : followed?.getAttribute('href')
  Object.assign(remembered(entry, 'page'), { top: main.scrollTop, href })
})

/** Scrolls new pages to the top, and restores pages on going back, with the focused link. */
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
