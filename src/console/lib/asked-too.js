import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { changes } from './live.js'
import { useLoaded } from './parts.js'
import { comparable, everywhere } from './person-identity.js'
import { link } from './router.js'

/** Maximum numbers of requests that are read. */
const LIMITS = { pending: 1_000, decided: 200 }

/** Whether a requester is an identity that was verified, such as `support:ada@example.com`. */
export function isIdentity(by) {
  return /^\S+:\S+$/.test(by)
}

/** When a request was decided, or expired. */
export function endOf({ decidedAt, expiresAt }) {
  return decidedAt ?? expiresAt
}

/**
 * The other requests of the same verified person: `open` ones, and `earlier` ones, newest first. The
 * same address is the same person on each gateway.
 */
export function askedTooIn({ id, by, message }, { pending = [], decided = [] }) {
  if (!message || !isIdentity(by)) return { open: [], earlier: [] }
  const who = personOf(by)
  const isOther = (each) => each.id !== id && personOf(each.by) === who
  return {
    open: pending.filter((each) => each.status === 'pending' && isOther(each)),
    earlier: decided.filter(isOther).toSorted((a, b) => endOf(b) - endOf(a)),
  }
}

const personOf = (by) => comparable(everywhere(by))

/** The same, read for one request; nothing until it is known. */
export function useAskedToo(request) {
  const { value = {} } = useLoaded(
    async (signal) => {
      const lists = Object.entries(LIMITS).map(async ([status, limit]) => [
        status,
        await invoke('approval-list', { status, limit }, signal),
      ])
      return Object.fromEntries(await Promise.all(lists))
    },
    [request.id, changes.approvals.value],
  )
  return askedTooIn(request, value)
}

/** The other requests of the person in one line, with links. */
export function AskedToo({ of: { by }, open, earlier }) {
  if (open.length + earlier.length === 0) return null
  const search = authorOf(by).split(':').at(-1)
  const [only] = open
  const waiting =
    open.length === 1
      ? html`<a href=${link('approvals', { id: only.id })}>also waiting: ${only.title}</a>`
      : html`<a href=${link('approvals', { search })}>also waiting: ${open.length} others</a>`
  const decided = html`<a href=${link('approvals', { show: 'decided', search })}>earlier: ${tallyOf(earlier)}</a>`
  return html`<span class="asked-too">${open.length > 0 && waiting}${open.length > 0 && earlier.length > 0 && ' · '}${earlier.length > 0 && decided}</span>`
}

/** Counts by decision: `2 approved, 1 denied`. */
function tallyOf(requests) {
  const counts = Map.groupBy(requests, ({ status }) => status)
  return [...counts].map(([status, { length }]) => `${length} ${status}`).join(', ')
}
