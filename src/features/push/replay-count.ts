import type { Store } from '../../core/store.ts'
import { type EventSelection, selectedBy } from '../../engine/event-range.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import type { ReplayCount } from '../../engine/replay-events.ts'
import { queueOf } from './records.ts'

/**
 * Adds to the counts of a replay the selected events that are dead letters (`dead`), and the
 * others that come again: the push has delivered them, unless they are older than the push
 * (`delivered`; absent if not all of them were counted).
 */
export async function withStates(
  { jobs }: Pick<Store, 'jobs'>,
  count: ReplayCount,
  { name, selection }: { name: string; selection: EventSelection },
) {
  const letters = (await jobs.deadLetters.ids()).flatMap(
    (id) => eventOfDelivery(id, `${queueOf(name)}/`) ?? [],
  )
  const dead = new Set(letters.filter(selectedBy([selection]))).size
  const delivered = Math.max(0, count.redelivered - dead)
  return { queued: 0, ...count, dead, ...(count.more !== true && { delivered }) }
}
