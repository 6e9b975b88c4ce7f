import { invoke } from './api.js'
import { html } from './html.js'
import { clock } from './live.js'
import { span, useLoaded } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

/** Polling interval (ms) of the messages, and how many of a route are examined. */
const POLL_INTERVAL = 15_000
const MAX_EXAMINED = 100

/** The messages of routes that are tried again, with the next attempt: one line per route. */
export function RetriedMessages({ routes }) {
  return routes.map(({ name }) => html`<${OfRoute} key=${name} name=${name} />`)
}

function OfRoute({ name }) {
  const { value } = useLoaded(
    (signal) => retriedOf(name, signal),
    [name, Math.floor(clock.value / POLL_INTERVAL)],
  )
  if (!value || value.many === 0) return null
  const { many, isCut, nextAt } = value
  const next = nextAt === undefined ? '' : `, the next ${whenIn(nextAt - clock.value)}`
  return html`<p class="now-it warn"><a href=${link('messages', { route: name, outcome: 'retrying' })}>${count(many, 'message', isCut ? '+' : '')}</a> of route <a href=${link(['routes', name])}>${name}</a> ${many === 1 ? 'is' : 'are'} tried again after a failed attempt${next}.</p>`
}

function whenIn(ms) {
  return ms > 0 ? `in ${span(ms)}` : 'now'
}

/** The number of messages that are tried again, and when the next attempt begins (Unix ms). */
async function retriedOf(route, signal) {
  const wanted = { route, outcome: 'retrying', limit: MAX_EXAMINED }
  const { messages, next } = await invoke('message-search', wanted, signal)
  const ids = messages.filter(({ test }) => !test).map(({ id }) => id)
  const attempts = ids.length > 0 ? await invoke('message-attempts', { ids }, signal) : []
  const times = attempts.flatMap(({ nextAt }) => nextAt ?? [])
  return {
    many: ids.length,
    isCut: next !== undefined,
    ...(times.length > 0 && { nextAt: Math.min(...times) }),
  }
}
