import { signal } from '@preact/signals'
import { options } from 'preact'

/** Where one is, as the address says behind the `#`: `#/messages/ID?text=x` is `{ path: ['messages', 'ID'], query: { text: 'x' } }`. */
export const route = signal(read())

addEventListener('hashchange', () => {
  route.value = read()
})

function read() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
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
  history.pushState(null, '', link(path, query))
  const { debounceRendering } = options
  options.debounceRendering = (render) => render()
  route.value = read()
  options.debounceRendering = debounceRendering
}

/** As `go`, without a step for the back button: for what is typed. */
export function replace(path, query) {
  history.replaceState(null, '', link(path, query))
  route.value = read()
}
