import { useEffect, useRef } from 'preact/hooks'
import { html } from './html.js'

/** The rarer actions of a page, in a menu. It closes after a choice, with Escape, and beside it. */
export function MoreActions({ children }) {
  const box = useRef()
  const close = () => {
    box.current.open = false
  }
  useEffect(() => {
    const look = (event) => box.current.contains(event.target) || close()
    document.addEventListener('pointerdown', look)
    return () => document.removeEventListener('pointerdown', look)
  }, [])
  const press = (event) => {
    if (event.key !== 'Escape' || !box.current.open) return
    // Otherwise, Escape leaves the page.
    event.preventDefault()
    close()
    box.current.querySelector('summary').focus()
  }
  const choose = (event) => event.target.closest('button, a') && close()
  return html`<details ref=${box} class="more-actions" onKeyDown=${press}><summary class="button">More</summary><div onClick=${choose}>${children}</div></details>`
}
