import type { JsonObject } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { newAndReplayed } from '../../lib/new-and-replayed.ts'
import { age } from '../../lib/short-text.ts'

/**
 * The events that will be sent: `at least 70 events, the oldest one for 3 h: 5 queued, 65 unread`, and
 * how many of them a replay sends again. An older daemon does not compare unread events with the filter.
 */
export function waitingText({
  queued,
  unread,
  matching = unread,
  more,
  oldestAt,
  replayed,
}: JsonObject): string {
  const all = Number(queued) + Number(matching)
  if (all === 0) return 'nothing'
  const oldest = typeof oldestAt === 'number' ? `, the oldest one for ${age(oldestAt)}` : ''
  const least = more === true ? 'at least ' : ''
  const parts = replayed === undefined ? '' : `${newAndReplayed(all, Number(replayed))}; `
  return `${least}${counted(all, 'event')}${oldest}: ${parts}${queued} queued, ${matching} unread`
}

/** The unread events that will not be sent; nothing if there are none. */
export function leftOutText({ unread, matching = unread, more, topic }: JsonObject): string {
  const others = Number(unread) - Number(matching)
  if (others === 0) return ''
  const what = `of ${counted(Number(unread), 'unread event')} of ${topic}`
  return more === true
    ? `not all ${what} were compared with the filter`
    : `${others} ${what} do not match the filter`
}
