/** Actions by key, newest last: those of the view precede those of the whole console. */
const actions = new Map()
/** The function that gets all keys, if any. */
let capturing

/**
 * Assigns an action to a key until the returned function is called. `what`: text for the help.
 * `applies()`: whether the key has an effect on the page as it is; the help omits it otherwise. A
 * component calls it in `useLayoutEffect`: Preact ends a `useEffect` of a page that was left only
 * after the next page is painted, and the key would still act for the old one.
 */
export function onKey(key, what, act, applies = () => true) {
  const own = { what, act, applies }
  actions.set(key, [...(actions.get(key) ?? []), own])
  return () =>
    actions.set(
      key,
      actions.get(key).filter((each) => each !== own),
    )
}

/**
 * Passes all keys to `listener(key)` until the returned function is called: for a field that is
 * still loading.
 */
export function captureKeys(listener) {
  capturing = listener
  return () => {
    capturing = undefined
  }
}

/** The keys that have an effect now, with the texts for the help. */
export const keysNow = () =>
  [...actions].flatMap(([key, all]) => (all.at(-1)?.applies() ? [[key, all.at(-1).what]] : []))

/** What a key does now, by its text for the help. Undefined without such a key. */
export function keyedAction(what) {
  const found = [...actions.values()].map((all) => all.at(-1)).find((action) => action?.what === what)
  return found?.act
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const act = capturing ?? (isTyping(event.target) ? undefined : actions.get(event.key)?.at(-1)?.act)
  if (!act) return
  event.preventDefault()
  act(event.key)
})

/**
 * Whether the keys belong to a field or a dialog. A field keeps the focus for a moment after its
 * dialog has closed.
 */
function isTyping(target) {
  const field = target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')
  return (field && !field.closest('dialog:not([open])')) || document.querySelector('dialog[open]')
}
