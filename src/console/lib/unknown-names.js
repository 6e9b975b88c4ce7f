import { unknownText } from '../../lib/unknown-names.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'
import { quoted } from './suggest.js'

/** A key with a name, as in `gateway:shop`. */
const NAMED = /(^|\s)(gateway|route|transport|conversation):\S/i

/**
 * The names in a search without a result that no gateway, route or conversation has. Similar names
 * replace them in the search. `linkTo`: the address of another search.
 */
export function UnknownNames({ filter: { search = '' }, linkTo }) {
  const { value: unknown = [] } = useLoaded(
    async (signal) =>
      NAMED.test(search)
        ? ((await invoke('message-search', { search, limit: 1 }, signal)).unknown ?? [])
        : [],
    [search],
  )
  return unknown.map(
    ({ key, name, near }) =>
      html`<p key=${key}>${unknownText({ key, name, near })}${near.length > 0 && ' Did you mean '}${near.map(
        (other, at) =>
          html`${at > 0 && (at === near.length - 1 ? ' or ' : ', ')}<a key=${other} href=${linkTo(withName(search, { key, name, other }))}>${other}</a>`,
      )}${near.length > 0 && '?'}</p>`,
  )
}

/** The search with another name after a key. */
function withName(search, { key, name, other }) {
  const written = [quoted(name), name, `"${name}"`]
  const found = written.map((each) => `${key}:${each}`).find((each) => search.includes(each))
  return found === undefined
    ? `${key}:${quoted(other)}`
    : search.replace(found, () => `${key}:${quoted(other)}`)
}
