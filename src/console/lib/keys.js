/** What keys do, by key, the newest last: that of the view that is shown counts, else that of the whole console. */
const known = new Map()

/** Has a key do something until the function that it returns is called. `what` stands in the help. */
export function onKey(key, what, act) {
  const mine = { what, act }
  known.set(key, [...(known.get(key) ?? []), mine])
  return () =>
    known.set(
      key,
      known.get(key).filter((each) => each !== mine),
    )
}

/** For the help: keys, and what they do. */
export const keysNow = () =>
  [...known].flatMap(([key, all]) => (all.length > 0 ? [[key, all.at(-1).what]] : []))

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const { target } = event
  const isTyping =
    target.closest('input, textarea, select, [contenteditable]') || document.querySelector('dialog[open]')
  if (isTyping) return
  const found = known.get(event.key)?.at(-1)
  if (!found) return
  event.preventDefault()
  found.act(event)
})
