/** Actions by key, newest last. Those of the current view take precedence over those of the whole console. */
const known = new Map()
let taker

/** Assigns an action to a key until the returned function is called. `what`: text for the help. */
export function onKey(key, what, act) {
  const mine = { what, act }
  known.set(key, [...(known.get(key) ?? []), mine])
  return () =>
    known.set(
      key,
      known.get(key).filter((each) => each !== mine),
    )
}

/** Gives all keys to `take(key)` until the function that it returns is called: to a field that is about to appear. */
export function takeKeys(take) {
  taker = take
  return () => {
    taker = undefined
  }
}

export const keysNow = () =>
  [...known].flatMap(([key, all]) => (all.length > 0 ? [[key, all.at(-1).what]] : []))

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const act = taker ?? (isTyping(event.target) ? undefined : known.get(event.key)?.at(-1)?.act)
  if (!act) return
  event.preventDefault()
  act(event.key)
})

/** A field keeps the focus for a moment after its dialog has closed. */
function isTyping(target) {
  const field = target.closest('input, textarea, select, [contenteditable]')
  return (field && !field.closest('dialog:not([open])')) || document.querySelector('dialog[open]')
}
