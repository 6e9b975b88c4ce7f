import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'

/** Maximum number of words that are searched on their own. */
const MAX_WORDS = 5

/** The words of a search without a result that match no message on their own, if it has several. */
export function WordsWithoutHit({ filter: { search = '', gateway, since, until } }) {
  const words = search.match(/(?:[^\s"]|"[^"]*")+/g) ?? []
  const isAsked = words.length > 1 && words.length <= MAX_WORDS
  const others = { ...(gateway && { gateway }), ...(since && { since }), ...(until && { until }) }
  const { value: found = [] } = useLoaded(
    async (signal) => {
      if (!isAsked) return []
      const hasHit = words.map(async (word) => {
        const page = await invoke('message-search', { ...others, search: word, limit: 1 }, signal)
        // With `next`, the search has not come to its end.
        return page.messages.length > 0 || page.next !== undefined
      })
      const hits = await Promise.all(hasHit).catch(() => [])
      return words.filter((_, at) => hits[at] === false)
    },
    [search, gateway, since, until],
  )
  if (found.length === 0) return null
  return html`No message matches ${found.map((word, at) => html`${at > 0 && ' or '}<code key=${word}>${word}</code>`)}. `
}
