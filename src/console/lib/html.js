import htm from 'htm'
import { h } from 'preact'
import { isViewer } from './api.js'

/**
 * Templates of Preact: `${}` takes text or an element, never markup. A button that changes something at the daemon has the attribute
 * `changes`: viewers see it disabled, with the reason.
 */
export const html = htm.bind(create)

const VIEWERS = 'You are signed in as a viewer: you see everything and change nothing.'
/** The attributes that people read. A text field keeps its `value` as it is. */
const READ = ['title', 'aria-label', 'alt', 'placeholder']

function create(type, props, ...children) {
  const { changes, ...given } = props ?? {}
  if (changes && isViewer.value) Object.assign(given, { disabled: true, title: VIEWERS })
  if (typeof type === 'string')
    for (const name of READ) if (typeof given[name] === 'string') given[name] = visible(given[name])
  return h(type, given, ...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
}

/** As `escapeControls` on the server: characters that reverse what follows them are shown by their numbers. */
function visible(text) {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}
