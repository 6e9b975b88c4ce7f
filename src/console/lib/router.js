import { signal } from '@preact/signals'
import { options } from 'preact'

/**
 * The current place, from the address after the `#`: `#/messages/ID?text=x` is `{ path:
 * ['messages', 'ID'], query: { text: 'x' } }`. `entry`: number of the history entry, which is the
 * same after going back. `from`: the previous path; `before`: its whole address and title;
 * `isDirect`: see `markDirect`. `visit`: changes when the open address is chosen again. `hash`: the
 * address as it is.
 */
export const route = signal(read())

/** Titles of the views, by the first part of their paths. */
export const titles = new Map()

const leaving = new Set()

/** Calls `act(entry)` before another place is shown, until the returned function is called. */
export function onLeave(act) {
  leaving.add(act)
  return () => leaving.delete(act)
}

// For links, the address bar and the back button; `go` renders its place itself.
addEventListener('hashchange', () => {
  const { entry, path } = route.peek()
  const before = shownNow()
  leave(entry)
  if (history.state === null) history.replaceState({ entry: Math.random(), from: path, before }, '')
  route.value = read()
})

// The address that is already open, such as from a bookmark: a browser forgets the state of the
// history entry, which then would not be found on going back.
addEventListener('popstate', () => {
  const { hash, entry, from, before, isDirect } = route.peek()
  if (history.state === null && location.hash === hash)
    history.replaceState({ entry, from, before, isDirect }, '')
})

// A link to the address that is already open: the browser reports no change.
addEventListener('click', ({ target }) => {
  const chosen = target instanceof Element && target.closest('a')?.getAttribute('href')
  if (!chosen || chosen !== location.hash) return
  history.replaceState({ ...history.state, visit: Math.random() }, '')
  route.value = read()
})

function leave(entry) {
  for (const act of leaving) act(entry)
}

/** The address and the title of the page that is still shown. */
function shownNow() {
  const { path, query } = route.peek()
  const title = document.querySelector('main h1')?.textContent.replace(/\s+/g, ' ').trim()
  return { hash: link(path, query), title }
}

function read() {
  if (history.state === null) history.replaceState({ entry: Math.random(), from: [] }, '')
  // Removes a token from the address before anything is rendered.
  const [path = '', query = ''] = location.hash.replace(/^#(token=.*|\/?)/, '').split('?')
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
    ...history.state,
    hash: location.hash,
  }
}

/** Also handles typed and truncated addresses. */
function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The address of a place. Omits empty parameters. */
export function link(path, query = {}) {
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(present).toString()
  return `#/${[path]
    .flat()
    .map((part) => encodeURIComponent(String(part).toWellFormed()))
    .join('/')}${search && `?${search}`}`
}

/** Goes to a place, and renders it before returning, so that the next key applies to it. */
export function go(path, query) {
  const { entry, path: from } = route.peek()
  const before = shownNow()
  leave(entry)
  history.pushState({ entry: Math.random(), from, before }, '', link(path, query))
  renderNow(() => {
    route.value = read()
  })
}

/** Goes to the place before, or to `path` if the page was opened directly. */
export function goBack(path) {
  if (route.peek().from.length > 0) history.back()
  else go(path)
}

/** Changes signals, and renders their effects before it returns. */
export function renderNow(change) {
  const { debounceRendering } = options
  options.debounceRendering = (render) => render()
  try {
    change()
  } finally {
    options.debounceRendering = debounceRendering
  }
}

/** Marks the page as not opened from a list, so that no list provides its neighbours. */
export function markDirect() {
  history.replaceState({ ...history.state, isDirect: true }, '')
  route.value = read()
}

/**
 * Like `go`, without a history entry, for text that is being typed. `path` may be a whole address
 * from the `#` on. Does nothing if another address was just chosen. Otherwise the address of the
 * page that is being left would replace it before `hashchange`.
 */
export function replace(path, query) {
  // Empty after the token was removed.
  if (location.hash !== '' && location.hash !== route.peek().hash) return
  const isWhole = typeof path === 'string' && path.startsWith('#')
  history.replaceState(history.state, '', isWhole ? path : link(path, query))
  route.value = read()
}
