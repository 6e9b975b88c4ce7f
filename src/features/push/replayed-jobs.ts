import { timeIn, timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import { jobsOf } from './queued-jobs.ts'
import { queueOf } from './records.ts'

/** Minimum time until the next count, as a multiple of the duration of the last one. */
const REST = 20
/** How long (ms) a count is kept while the number of jobs does not change. */
const LIFETIME = 5_000

type Counted = { queued: number; at: number; took: number; replayed: number }

export type ReplayedJobs = ReturnType<typeof createReplayedJobs>

/**
 * Counts the queued events of pushes that a replay sends again. The status reads the counts each
 * second, so they are cached, and take at most a twentieth of the time.
 */
export function createReplayedJobs(store: Pick<Store, 'erasing'>) {
  const counted = new Map<string, Counted>()
  return async (name: string, queued: number): Promise<number> => {
    if (queued === 0) {
      counted.delete(name)
      return 0
    }
    const known = counted.get(name)
    const began = performance.now()
    const age = known ? began - known.at : Number.POSITIVE_INFINITY
    if (known && age < Math.max(known.took * REST, known.queued === queued ? LIFETIME : 0))
      return known.replayed
    const { jobs } = await jobsOf(store, queueOf(name), queued)
    const replayed = jobs.filter(({ id }) => isReplayed(id, name)).length
    const at = performance.now()
    counted.set(name, { queued, at, took: at - began, replayed })
    return replayed
  }
}

/** Whether a replay sends the event of a job again. */
function isReplayed(id: string, name: string): boolean {
  const event = eventOfDelivery(id, `${queueOf(name)}/`)
  return event !== undefined && (timeIn(id) ?? 0) > timeOf(event)
}
