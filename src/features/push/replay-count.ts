import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import type { EventRange, ReplayCount } from '../../engine/replay-events.ts'
import { jobsOf } from './queued-jobs.ts'
import { queueOf } from './records.ts'

/**
 * Adds to the counts of a replay the events of its range that wait for an attempt (`queued`), that
 * are dead letters (`dead`), and the others that the push has read: it has delivered them, unless
 * they are older than the push (`delivered`; absent if not all events of the range were counted).
 * `queuedMore`: there may be more queued events, and `delivered` is then too high. `waiting`: the
 * number of jobs of the push.
 */
export async function withStates(
  store: Pick<Store, 'jobs' | 'erasing'>,
  count: ReplayCount,
  { name, range, waiting }: { name: string; range: EventRange; waiting: number },
) {
  const isIn = inRange(queueOf(name), range)
  const { jobs, isCut } =
    waiting > 0 ? await jobsOf(store, queueOf(name), waiting) : { jobs: [], isCut: false }
  const ids = jobs.map(({ id }) => id)
  const letters = await store.jobs.deadLetters.ids()
  const [queued, dead] = [ids, letters].map((all) => new Set(all.flatMap((id) => isIn(id) ?? [])).size)
  const delivered = Math.max(0, count.redelivered - (queued ?? 0) - (dead ?? 0))
  return {
    ...count,
    queued: queued ?? 0,
    dead: dead ?? 0,
    ...(isCut && { queuedMore: true }),
    ...(count.more !== true && { delivered }),
  }
}

/** Returns the event of a job or dead letter of the queue, if the range has it. */
function inRange(queue: string, { since = 0, until = Number.POSITIVE_INFINITY, from = '', to }: EventRange) {
  return (job: string): string | undefined => {
    if (!job.startsWith(`${queue}/`)) return undefined
    const event = job.slice(queue.length + 1).replace(/\.\d+$/, '')
    const at = timeOf(event)
    const isInTime = at >= since && at < until
    return isInTime && event >= from && (to === undefined || event <= to) ? event : undefined
  }
}
