import { signal } from '@preact/signals'
import { options } from 'preact'

/**
 * Where one is, as the address says behind the `#`: `#/messages/ID?text=x` is `{ path: ['messages', 'ID'], query: { text: 'x' } }`.
 * `entry` is the entry of the browser's history: going back has its number again. `from` is the path that led here.
 */
export const route = signal(read())

/** The titles of the views by the first part of their paths. */
export const titles = new Map()

const leaving = new Set()

/** Calls `act(entry)` before another place is shown, until the function that it returns is called. */
export function onLeave(act) {
  leaving.add(act)
  return () => leaving.delete(act)
}

// Links, the address bar and the way back; `go` shows its place itself.
addEventListener('hashchange', () => {
  const { entry, path } = route.peek()
  leave(entry)
  if (history.state === null) history.replaceState({ entry: Math.random(), from: path }, '')
  route.value = read()
})

function leave(entry) {
  for (const act of leaving) act(entry)
}

function read() {
  if (history.state === null) history.replaceState({ entry: Math.random(), from: [] }, '')
  // A token leaves the address before anything is shown.
  const [path = '', query = ''] = location.hash.replace(/^#(token=.*|\/?)/, '').split('?')
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
    ...history.state,
  }
}

/** Of an address that somebody typed or cut off, too. */
function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The address of a place; what of the query is empty is left out. */
export function link(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(given).toString()
  return `#/${[path]
    .flat()
    .map((part) => encodeURIComponent(String(part).toWellFormed()))
    .join('/')}${search && `?${search}`}`
}

/** Goes there, and has it shown before it returns: keys that follow at once are for that place. */
export function go(path, query) {
  const { entry, path: from } = route.peek()
  leave(entry)
  history.pushState({ entry: Math.random(), from }, '', link(path, query))
  atOnce(() => {
    route.value = read()
  })
}

/** Changes signals, and has what they change shown before it returns. */
export function atOnce(change) {
  const { debounceRendering } = options
  options.debounceRendering = (render) => render()
  try {
    change()
  } finally {
    options.debounceRendering = debounceRendering
  }
}

/** As `go`, without a step for the back button: for what is typed. `path` may be a whole address, from the `#` on. */
export function replace(path, query) {
  const isWhole = typeof path === 'string' && path.startsWith('#')
  history.replaceState(history.state, '', isWhole ? path : link(path, query))
  route.value = read()
}
