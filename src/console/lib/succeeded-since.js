import { invoke } from './api.js'
import { html } from './html.js'
import { Age, useLoaded } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

/**
 * Whether the route of dead letters works again: how many messages that came after the last failure
 * it has handled. `last`: that time (Unix ms).
 */
export function SucceededSince({ queue, route, last }) {
  const isOfRoute = queue === 'dispatch' && Boolean(route)
  const { value } = useLoaded(
    async (signal) => {
      if (!isOfRoute) return undefined
      const filter = { route, outcome: 'done', since: new Date(last).toISOString() }
      const [{ total, countedTo }, { messages }] = await Promise.all([
        invoke('message-histogram', { ...filter, buckets: 1 }, signal),
        invoke('message-search', { ...filter, limit: 1 }, signal),
      ])
      return { total, isCut: countedTo !== undefined, newest: messages[0] }
    },
    [isOfRoute, route, last],
  )
  if (!value) return null
  const { total, isCut, newest } = value
  if (!newest)
    return html`<p class="dim">No message that came to <b>${route}</b> after the last failure has been handled yet.</p>`
  const since = new Date(last).toISOString()
  return html`<p class="dim"><b class="good-text">✓</b> After the last failure, <b>${route}</b> has handled <a href=${link('messages', { route, outcome: 'done', since })}>${count(total, 'message', isCut ? '+' : '')}</a>, the last one <${Age} at=${newest.at} /> ago.</p>`
}
