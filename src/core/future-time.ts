import { hasRealDate } from '../lib/real-date.ts'
import { nextTime } from '../lib/time-range.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/
/** A bare number would be an hour. */
const NUMBER = /^\d+$/

/**
 * Parses a time for something planned to Unix ms: ISO 8601, in UTC unless it has an offset, or the
 * next such time in UTC (`14:00`, `monday 9:30`). Undefined for anything else.
 */
export function futureTime(text: string, now = Date.now()): number | undefined {
  const words = text.trim()
  if (!ISO.test(words)) return NUMBER.test(words) ? undefined : nextTime(words, now, 'utc')
  if (!hasRealDate(words)) return undefined
  const time = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(words) ? words : `${words}Z`)
  return Number.isNaN(time) ? undefined : time
}
