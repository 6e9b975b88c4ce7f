import { quoted } from './suggest.js'

/** `key:value` or a text; values and texts may be in quotes. As in src/core/search-words.ts. */
const TERM = /(?:([a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))|([a-z][a-z-]*):(?=\s|$)/gi

/**
 * The search words for a filter in the address; `filterOf` is the reverse. `fields`: `{ key, name
 * }`, where `name` is the parameter that `key:` sets. `rest`: the parameter that words without a
 * key set; a field may set it too.
 */
export function wordsOf(query, fields, rest) {
  const words = fields.flatMap(({ key, name }) =>
    query[name] && name !== rest ? [`${key}:${quoted(query[name])}`] : [],
  )
  return [...words, ...(query[rest] ? [query[rest]] : [])].join(' ')
}

/** The parameters that search words set, with others of `fields` as undefined; or `{ error }`. */
export function filterOf(text, fields, rest) {
  const filter = Object.fromEntries([...fields.map(({ name }) => [name, undefined]), [rest, undefined]])
  const words = []
  for (const [whole, key, inQuotes, plain, bare] of text.matchAll(TERM)) {
    const value = inQuotes === undefined ? plain : inQuotes.replace(/\\(.)/g, '$1')
    const known = fields.find((each) => each.key === (bare ?? key)?.toLowerCase())
    if (bare !== undefined && known) return { error: `${bare}: needs a value: ${known.about}` }
    if (known?.name === rest) {
      words.push(value)
      continue
    }
    if (known && filter[known.name] !== undefined) return { error: `${key}: is given twice` }
    if (known) filter[known.name] = value
    else if (key && fields.length > 0 && !/^\/\//.test(value ?? ''))
      return {
        error: `${key}: is not a known key. Known keys are ${fields.map((each) => `${each.key}:`).join(' ')}`,
      }
    // The daemon reads `search` itself, with its quotes.
    else words.push(inQuotes === undefined || rest === 'search' ? whole : value)
  }
  if (words.length > 0) filter[rest] = words.join(' ')
  return { filter }
}
