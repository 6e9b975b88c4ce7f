import { ADDRESS_KEYS } from './address-keys.js'
import { html } from './html.js'
import { link, route } from './router.js'

/** Warns about unknown parameters in the address: the view ignores them, so they filter nothing. */
export function UnknownKeys({ view: { path: name, title } }) {
  const { path, query } = route.value
  const [, ...rest] = path
  const given = ADDRESS_KEYS[name]
  const keys = typeof given === 'function' ? given(rest) : given
  if (!keys) return null
  const unknown = Object.keys(query).filter((key) => !keys.includes(key))
  if (unknown.length === 0) return null
  const known = Object.fromEntries(Object.entries(query).filter(([key]) => keys.includes(key)))
  const knows = keys.length > 0 ? `It has ${keys.join(', ')}.` : 'It has none.'
  return html`<p class="problem unknown-keys" role="alert"><span>The address has ${unknown.map((key) => `${key}=${query[key]}`).join(', ')}, which is no parameter of ${title}, and is ignored. ${knows}</span> <a href=${link(path, known)}>Remove it</a></p>`
}
