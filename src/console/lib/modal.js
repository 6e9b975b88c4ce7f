import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.js'

/**
 * A dialog over the page for as long as it is rendered. Escape calls `leave()`, which stops rendering it, or returns false where it
 * has to stay.
 *
 * A browser reports a closed dialog by an event that may come after the next key, and until then that key goes to a field of the closed
 * dialog. So it is removed on `cancel`, which comes before.
 */
export function Modal({ leave, children, ...attributes }) {
  const dialog = useRef()
  useLayoutEffect(() => {
    const { current } = dialog
    current.showModal()
    // Closed before it is removed, which restores the focus.
    return () => current.close()
  }, [])
  const cancel = (event) => {
    if (event.target !== dialog.current) return
    event.preventDefault()
    leave()
  }
  // Browsers close a dialog without asking where Escape is pressed again and again.
  const closed = (event) => {
    if (event.target === dialog.current && !event.target.open && leave() === false) event.target.showModal()
  }
  return html`<dialog ref=${dialog} onCancel=${cancel} onClose=${closed} ...${attributes}>${children}</dialog>`
}
