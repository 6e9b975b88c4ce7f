/**
 * The keys of the search field of a list: Enter moves to its first row (`toRows(true)`, see
 * `useFirstRow`), and Escape empties the field and leaves it, so that the next key is one of the page.
 */
export const searchKeys = (toRows) => (event) => {
  if (event.isComposing) return
  if (event.key === 'Enter') toRows?.(true)
  if (event.key !== 'Escape') return
  event.preventDefault()
  const { target } = event
  if (target.value !== '') {
    target.value = ''
    target.dispatchEvent(new Event('input', { bubbles: true }))
  }
  target.blur()
}
