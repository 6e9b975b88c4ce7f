import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import type { UnroutedCount } from '../../engine/unrouted-tally.ts'
import { counted } from '../../lib/counted.ts'
import type { StoredReadings } from './readings.ts'
import { warning } from './trouble-parts.ts'

/** Ms. A worker on another daemon leaves nothing untaken for so long. */
const UNTAKEN = 5 * MINUTE

/**
 * Messages without a route, by gateway, where that is unexpected: other messages of the gateway have routes, or it has none and nobody
 * reads its messages on another road either.
 */
export function unroutedTroubles(
  counts: readonly UnroutedCount[],
  stored: StoredReadings,
  at: number,
): Trouble[] {
  const routed = counts.filter(({ isRouted }) => isRouted).map(missedTrouble)
  const isRead = stored.groups.some(({ topic }) => topic === MESSAGE_TOPIC)
  const unread = isRead ? [] : counts.filter((one) => !one.isRouted && isUnread(one, stored, at))
  return [...routed, ...unread.map(unreadTrouble)]
}

/** Groups of push subscriptions are among `groups`. */
function isUnread({ gateway, isTaken }: UnroutedCount, { waiting }: StoredReadings, at: number): boolean {
  if (isTaken) return false
  return waiting.some(
    (one) => one.road === 'receive' && one.gateway === gateway && at - one.oldestAt > UNTAKEN,
  )
}

function missedTrouble({ gateway, count }: UnroutedCount): Trouble {
  const title = `${counted(count, 'message')} of ${gateway} without a route in the last hour`
  const text = 'Its routes took other messages, and not these. They are kept, and no skill saw them.'
  const todo = '`trivium routes explain ID` says why; `trivium routes replay --since 1h` routes them again.'
  return warning('unrouted', { gateway }, { title, text, todo, count })
}

function unreadTrouble({ gateway, count }: UnroutedCount): Trouble {
  const title = `Nobody reads the messages of ${gateway}`
  const text = `No route is for this gateway, and no consumer or group reads: ${counted(count, 'message')} in the last hour.`
  const todo = `Add a route, read with \`trivium gateway receive --gateway ${gateway}\`, or push them.`
  return warning('unrouted', { gateway }, { title, text, todo, count })
}
