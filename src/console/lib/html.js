import htm from 'htm'
import { h } from 'preact'

/** Templates of Preact: `${}` takes text or an element, never markup. */
export const html = htm.bind(create)

/** The attributes that people read. A text field keeps its `value` as it is. */
const READ = ['title', 'aria-label', 'alt', 'placeholder']

function create(type, props, ...children) {
  const given = { ...props }
  if (typeof type === 'string')
    for (const name of READ) if (typeof given[name] === 'string') given[name] = visible(given[name])
  return h(type, given, ...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
}

/** As `escapeControls` on the server: characters that reverse what follows them are shown by their numbers. */
function visible(text) {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}
