import htm from 'htm'
import { h } from 'preact'

/** Templates of Preact: what stands in `${}` is text or an element, never markup. */
export const html = htm.bind(h)
