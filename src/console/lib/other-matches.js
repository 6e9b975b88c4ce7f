import { invoke } from './api.js'
import { html } from './html.js'
import { keyedTerms } from './menu-value.js'
import { useLoaded } from './parts.js'
import { link } from './router.js'

/** Maximum number of parts of a filter that are left out, each in a search of its own. */
const MAX_PARTS = 6
const TIMES = new Set(['after', 'since', 'before', 'until'])

/**
 * For a filter of messages without a result: links to the filter without one of its parts, for each
 * part without which there are messages.
 */
export function OtherMatches({ filter }) {
  const parts = partsOf(filter)
  const isAsked = parts.length > 1 && parts.length <= MAX_PARTS
  const { value: found = [] } = useLoaded(
    async (signal) => {
      if (!isAsked) return []
      const tried = parts.map(async (part) => {
        const { messages } = await invoke('message-search', { ...part.filter, limit: 1 }, signal)
        return messages.length > 0
      })
      const hits = await Promise.all(tried).catch(() => [])
      return parts.filter((_, at) => hits[at])
    },
    [JSON.stringify(filter)],
  )
  if (found.length === 0) return null
  return html`<p>There are messages ${found.map(
    ({ name, filter }, at) =>
      html`${at > 0 && (at === found.length - 1 ? ' or ' : ', ')}<a key=${name} href=${link('messages', filter)}>${name}</a>`,
  )}.</p>`
}

/** The parts of a filter by what it is without them: `at any time`, `without status:dead`. */
function partsOf({ search = '', since, until, ...others }) {
  const set = Object.entries(others).filter(([, value]) => value)
  const given = Object.fromEntries(set)
  const times = { ...(since && { since }), ...(until && { until }) }
  const terms = keyedTerms(search)
  const without = (isGone) =>
    withSearch(
      { ...given, ...times },
      terms.filter((term) => !isGone(term)),
    )
  const isTime = ({ key }) => TIMES.has(key)
  const isWord = ({ key }) => key === undefined
  const named = terms.filter((term) => !isTime(term) && !isWord(term))
  const found = []
  if (since || until || terms.some(isTime))
    found.push({
      name: 'at any time',
      filter: withSearch(
        given,
        terms.filter((term) => !isTime(term)),
      ),
    })
  for (const [key] of set)
    found.push({
      name: `${key === 'gateway' ? 'at' : 'with'} any ${key}`,
      filter: withSearch({ ...given, [key]: undefined, ...times }, terms),
    })
  for (const term of named)
    found.push({ name: `without ${term.whole}`, filter: without((each) => each === term) })
  if (terms.some(isWord)) found.push({ name: 'without the words', filter: without(isWord) })
  return found
}

/** A filter with these terms as its search, without empty values. */
function withSearch(filter, terms) {
  const search = terms.map(({ whole }) => whole).join(' ')
  return Object.fromEntries(Object.entries({ ...filter, search }).filter(([, value]) => value))
}
