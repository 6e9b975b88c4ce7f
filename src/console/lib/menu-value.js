/** `key:value`, also after a minus, or a text; values and texts may be in quotes. As in src/core/search-words.ts. */
const TERM = /(-?)(?:([a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gi

/** The value that the words of a search give a key such as `gateway`; undefined without one. */
export function valueIn(search = '', key) {
  const term = termsOf(search, key)[0]
  return term && (term[4] ?? term[3])
}

/** A search without its words for a key. */
export function withoutKey(search = '', key) {
  const gone = new Set(termsOf(search, key).map(({ index }) => index))
  const left = [...search.matchAll(TERM)].filter(({ index }) => !gone.has(index))
  return left.map(([whole]) => whole).join(' ')
}

const STARTS = ['after', 'since']
const ENDS = ['before', 'until']

/** The times that the words of a search give: `today 6-8`, `until 2h`; undefined without one. */
export function timesIn(search) {
  const first = (keys) => keys.map((key) => valueIn(search, key)).find(Boolean)
  const [from, to] = [first(STARTS), first(ENDS)]
  if (!to) return from
  return from ? `${from} until ${to}` : `until ${to}`
}

/** A search without its times. */
export function withoutTimes(search) {
  return [...STARTS, ...ENDS].reduce((left, key) => withoutKey(left, key), search)
}

/** The terms of a search with their keys; the key of a word is undefined. */
export function keyedTerms(search = '') {
  return [...search.matchAll(TERM)].map(([whole, , key]) => ({ whole, key: key?.toLowerCase() }))
}

function termsOf(search, key) {
  return [...search.matchAll(TERM)].filter(([, minus, name]) => minus === '' && name?.toLowerCase() === key)
}
