/** What keys do now, by key: of the whole console, and of the view that is shown. */
const known = new Map()

/** Has a key do something until the function that it returns is called. `what` stands in the help. */
export function onKey(key, what, act) {
  const mine = { what, act }
  known.set(key, mine)
  return () => known.get(key) === mine && known.delete(key)
}

/** For the help: keys, and what they do. */
export const keysNow = () => [...known].map(([key, { what }]) => [key, what])

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const { target } = event
  const isTyping =
    target.closest('input, textarea, select, [contenteditable]') || document.querySelector('dialog[open]')
  if (isTyping) return
  const found = known.get(event.key)
  if (!found) return
  event.preventDefault()
  found.act(event)
})
