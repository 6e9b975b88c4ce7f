import type { Store } from '../../core/store.ts'
import { type EventRange, isInRange } from '../../engine/event-range.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import type { ReplayCount } from '../../engine/replay-events.ts'
import { queueOf } from './records.ts'

/**
 * Adds to the counts of a replay the events of its range that are dead letters (`dead`), and the
 * others that come again: the push has delivered them, unless they are older than the push
 * (`delivered`; absent if not all events of the range were counted).
 */
export async function withStates(
  { jobs }: Pick<Store, 'jobs'>,
  count: ReplayCount,
  { name, range }: { name: string; range: EventRange },
) {
  const letters = (await jobs.deadLetters.ids()).flatMap(
    (id) => eventOfDelivery(id, `${queueOf(name)}/`) ?? [],
  )
  const dead = new Set(letters.filter((id) => isInRange(id, range))).size
  const delivered = Math.max(0, count.redelivered - dead)
  return { queued: 0, ...count, dead, ...(count.more !== true && { delivered }) }
}
