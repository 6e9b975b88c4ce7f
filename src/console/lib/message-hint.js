import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'
import { link } from './router.js'

/** Maximum number of messages that are counted. */
const LIMIT = 100

/**
 * For a search of dead letters without a result: a link to the dead messages with these words, or
 * else to all messages with them.
 */
export function MessageHint({ words }) {
  const { value: many } = useLoaded(
    async (signal) => {
      const query = { search: words, outcome: 'dead', limit: LIMIT }
      const { messages } = await invoke('message-search', query, signal).catch(() => ({ messages: [] }))
      return messages.length
    },
    [words],
  )
  if (many === undefined) return null
  const all = html`<a href=${link('messages', { search: words })}>Search all messages for ${words}</a> `
  if (many === 0) return all
  const number = many === LIMIT ? `${LIMIT}+` : many
  const what = many === 1 ? '1 dead message has' : `${number} dead messages have`
  return html`<a href=${link('messages', { outcome: 'dead', search: words })}>${what} these words</a>. `
}
