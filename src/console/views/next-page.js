import { html } from '../lib/html.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Number of events of a page. */
export const PAGE = 100

/** `101 to 200 of 262 events`; `least`: there may be more. */
export function rangeInWords({ first, shown, all, least = false, isWhole }) {
  if (first === 0 && isWhole) return count(shown, 'event')
  const [start, end] = [first + 1, first + shown].map((each) => each.toLocaleString('en'))
  return `${start} to ${end} of ${least ? 'at least ' : ''}${count(Math.max(all, first + shown), 'event')}`
}

/** Links to the next page of a list, and to its beginning. */
export function NextPage({ path, query = {}, next, after, place: { first, shown } }) {
  if (next === undefined && !after) return null
  return html`<p class="buttons">${after && html`<a class="button" href=${link(path, query)}>To the beginning</a>`} ${next !== undefined && html`<a class="button" href=${link(path, { ...query, after: next, from: String(first + shown) })}>Next ${PAGE}</a>`}</p>`
}
