import { frozenSearch } from '../../lib/frozen-search.ts'
import { timeRangeIn } from '../../lib/time-range.ts'
import { instant, timeIn } from './range.js'
import { link, route } from './router.js'

/**
 * The address of this list with the times that its ages and words mean now: a copied link shows the
 * same messages tomorrow. `hasWords`: its search has `after:` and `before:`.
 */
export function frozenLink({ hasWords = false } = {}) {
  const { path, query } = route.peek()
  const { since, until, search } = query
  const now = Date.now()
  const start = momentIn(since, now)
  const end = momentIn(until, now) ?? (start === undefined || until ? undefined : now)
  return link(path, {
    ...query,
    ...(start !== undefined && { since: instant(start) }),
    ...(end !== undefined && { until: instant(end) }),
    ...(hasWords && search && { search: frozenSearch(search, now) }),
  })
}

/** The time (Unix ms) of an age or of words; undefined for a time that means the same later. */
function momentIn(text, now) {
  if (!text || !Number.isNaN(timeIn(text))) return undefined
  return timeRangeIn(text, { now, zone: 'utc' })?.since
}
