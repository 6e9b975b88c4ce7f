import { invoke } from './api.js'
import { renewAttempt } from './attempts.js'
import { html } from './html.js'
import { act, ask, useOnce } from './parts.js'
import { count } from './troubles.js'

/** Maximum number of messages in a call. */
const MAX_IDS = 200
/** Maximum number of calls for a filter. Each searches for at most a second. */
const MAX_CALLS = 100

/**
 * Asks, then starts the next attempts of messages in back-off. `what`: a description of the
 * messages; `of`: their ids, or a filter for them. Resolves with whether the attempts began.
 */
export async function retryNowAll(what, of) {
  const title = `Retry ${what} now?`
  const body = html`<p>The next attempt of each begins now, not after its back-off. It counts like any other: an attempt that fails leaves one less.</p>`
  if (!(await ask({ title, body, action: 'Retry now' }))) return false
  return act(async () => {
    let sum = 0
    let left = 0
    for await (const page of Array.isArray(of) ? retryIds(of) : retryMatching(of)) {
      for (const id of page.ids) renewAttempt(id)
      sum += page.count
      left += page.left
    }
    const others = left > 0 ? ` ${left.toLocaleString('en')} had begun or ended meanwhile.` : ''
    return `The next attempt of ${count(sum, 'message')} begins now.${others}`
  })
}

async function* retryIds(ids) {
  for (let start = 0; start < ids.length; start += MAX_IDS)
    yield await invoke('message-retry', { id: ids.slice(start, start + MAX_IDS) })
}

async function* retryMatching(filter) {
  let before
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const page = await invoke('message-retry', { all: true, ...filter, ...(before && { before }) })
    yield page
    before = page.next
    if (before === undefined) return
  }
}

/** A button that starts the next attempts of all messages of a route that are in back-off. */
export function RetryRouteNow({ route, many }) {
  if (many < 2) return null
  return html` <button changes type="button" class="small" onClick=${() => retryNowAll(`all messages of route ${route}`, { route })}>Retry all now …</button>`
}

/** The same on Now, for the messages of the route or of the gateway of a trouble. */
export function TryNow({ of: { where, title } }) {
  const [isBusy, once] = useOnce()
  const { gateway, group } = where
  const what = group ? `all messages of route ${group}` : `all messages of ${gateway}`
  const retry = () => retryNowAll(what, { ...(gateway && { gateway }), ...(group && { route: group }) })
  return html` <button changes type="button" class="small" aria-disabled=${isBusy} onClick=${() => once(retry)} aria-label=${`Try now: ${title}`}>Try now …</button>`
}
