import { useLayoutEffect } from 'preact/hooks'
import { onLeave, route } from './router.js'

/** Maximum number of history entries with a remembered position. */
const MAX_ENTRIES = 50
/** How long (ms) to wait for the previous content. */
const MAX_WAIT = 5_000

/** Remembered data per history entry, by name. */
const entries = new Map()

/** The remembered object of a history entry, by name. It is the same object after going back. */
export function remembered(entry, name) {
  const all = entries.get(entry) ?? new Map()
  entries.delete(entry)
  entries.set(entry, all)
  if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value)
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
export function useScrollPosition() {
  const { entry, path } = route.value
  useLayoutEffect(() => {
    const main = document.getElementById('main')
    const { top = 0, href } = remembered(entry, 'page')
    if (!main) return
    main.scrollTop = top
    if (top === 0 && href === undefined) return
    const selector = href && `a[href="${CSS.escape(href)}"]`
    const restore = () => {
      main.scrollTop = top
      const followed = selector && main.querySelector(selector)
      // Otherwise, the person has focused something meanwhile.
      const isFocusUnset = [document.body, main].includes(document.activeElement)
      if (followed && isFocusUnset) followed.focus({ preventScroll: true })
      if ((followed || !selector) && Math.abs(main.scrollTop - top) < 2) stop()
    }
    const observer = new MutationObserver(restore)
    const stop = () => {
      observer.disconnect()
      clearTimeout(timer)
      for (const event of ['wheel', 'pointerdown', 'keydown']) removeEventListener(event, stop, true)
    }
    const timer = setTimeout(stop, MAX_WAIT)
    for (const event of ['wheel', 'pointerdown', 'keydown']) addEventListener(event, stop, true)
    observer.observe(main, { childList: true, subtree: true })
    restore()
    return stop
  }, [entry, path.join('/')])
}
