import htm from 'htm'
import { h } from 'preact'
import { isViewer } from './api.js'

/**
 * Preact templates: `${}` accepts text or elements, never markup. Buttons that change something on
 * the daemon have the attribute `changes`; they are disabled for viewers, with the reason.
 */
export const html = htm.bind(create)

const VIEWER_REASON = 'You are signed in as a viewer, who cannot change anything.'
/** Attributes that people read. The `value` of a text field stays unchanged. */
const READABLE_ATTRIBUTES = ['title', 'aria-label', 'alt', 'placeholder']

function create(type, props, ...children) {
  const { changes, ...attributes } = props ?? {}
  if (changes && isViewer.value) Object.assign(attributes, { disabled: true, title: VIEWER_REASON })
  if (typeof type === 'string')
    for (const name of READABLE_ATTRIBUTES)
      if (typeof attributes[name] === 'string') attributes[name] = visible(attributes[name])
  return h(type, attributes, ...children.map((child) => (typeof child === 'string' ? visible(child) : child)))
}

/** Shows characters that change the text direction as escapes, like `escapeControls`. */
function visible(text) {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}
