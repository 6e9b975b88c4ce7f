import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import type { UnroutedCount } from '../../engine/unrouted-tally.ts'
import { counted } from '../../lib/counted.ts'
import type { StoredReadings } from './readings.ts'
import { warning } from './trouble-parts.ts'

/**
 * A message that waits for longer (ms) shows that its gateway has no worker. `isTaken` knows only
 * workers that ask this daemon.
 */
const MAX_WAIT = 5 * MINUTE

/**
 * Messages without a route, by gateway, if that is unexpected: the gateway has routes for other
 * messages, or it has none and its messages are not read on another road either.
 */
export function unroutedTroubles(
  counts: readonly UnroutedCount[],
  stored: StoredReadings,
  at: number,
): Trouble[] {
  const unmatched = counts.filter(({ hasRoute }) => hasRoute).map(unmatchedTrouble)
  // `groups` includes the groups of push subscriptions.
  const hasConsumers = stored.groups.some(({ topic }) => topic === MESSAGE_TOPIC)
  const unread = hasConsumers ? [] : counts.filter(({ hasRoute, isTaken }) => !hasRoute && !isTaken)
  return [...unmatched, ...unread.flatMap((one) => unreadTrouble(one, stored, at))]
}

function unmatchedTrouble({ gateway, count }: UnroutedCount): Trouble {
  const title = `${counted(count, 'message')} of ${gateway} without a route in the last hour`
  const text = 'Its routes do not match these. They are stored, but no skill has received them.'
  const todo = '`trivium route explain ID` shows why; `trivium route replay --since 1h` routes them again.'
  return warning('unrouted', { gateway }, { title, text, todo, count })
}

/** The trouble of a gateway whose messages nobody reads, if the oldest has waited for long. */
function unreadTrouble(
  { gateway, count }: UnroutedCount,
  { waiting }: StoredReadings,
  at: number,
): Trouble[] {
  const own = waiting.filter((one) => one.road === 'receive' && one.gateway === gateway)
  const since = Math.min(...own.map(({ oldestAt }) => oldestAt))
  if (at - since <= MAX_WAIT) return []
  const title = `The messages of ${gateway} are not read`
  const text = `This gateway has no route, consumer or consumer group: ${counted(count, 'message')} in the last hour.`
  const todo = `Add a route, push them, or receive them; \`trivium gateway receive --gateway ${gateway}\` reads one.`
  return [warning('unrouted', { gateway }, { title, text, todo, count, since })]
}
