import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.js'

/**
 * A dialog over the page for as long as it is rendered. Escape calls `leave()`, which stops
 * rendering the dialog, or returns false if it has to stay. Ctrl+Enter calls `confirm()`; without
 * one it submits the form of the dialog. Without a field, the element that `start(dialog)` returns
 * has the focus.
 *
 * The event `close` of a browser may come after the next key, which then goes to a field of the
 * closed dialog. So the dialog is removed at the event `cancel`, which comes earlier.
 */
export function Modal({ leave, confirm = submit, start, onKeyDown, children, ...attributes }) {
  const dialog = useRef()
  useLayoutEffect(() => {
    const { current } = dialog
    current.showModal()
    if (start && !document.activeElement.matches(FIELD)) start(current)?.focus({ preventScroll: true })
    startAtTop(current)
    // Closing the dialog before it is removed restores the focus.
    return () => current.close()
  }, [])
  // It belongs to the page that is being left by a link, the back button or the address bar.
  const latest = useRef()
  latest.current = leave
  useEffect(() => {
    const end = () => latest.current()
    addEventListener('hashchange', end)
    return () => removeEventListener('hashchange', end)
  }, [])
  const cancel = (event) => {
    if (event.target !== dialog.current) return
    event.preventDefault()
    leave()
  }
  // If Escape is pressed repeatedly, browsers close a dialog without the event `cancel`.
  const closed = (event) => {
    if (event.target === dialog.current && !event.target.open && leave() === false) event.target.showModal()
  }
  const key = (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing)
      return onKeyDown?.(event)
    event.preventDefault()
    confirm(dialog.current)
  }
  return html`<dialog ref=${dialog} tabindex="-1" onKeyDown=${key} onCancel=${cancel} onClose=${closed} ...${attributes}>${children}</dialog>`
}

/** Elements for typing, or with an assigned focus. */
const FIELD = 'input, select, textarea, [autofocus]'

function submit(dialog) {
  dialog.querySelector('form')?.requestSubmit()
}

/**
 * Begins a dialog that is higher than the screen at its top: what it is about and its warnings come
 * before the field with `autofocus`, to which the browser has scrolled.
 */
function startAtTop(dialog) {
  if (dialog.scrollTop === 0) return
  dialog.focus({ preventScroll: true })
  dialog.scrollTop = 0
}
