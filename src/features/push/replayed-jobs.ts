import type { LongJob } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import { isReplayedDelivery } from '../../engine/queued-events.ts'
import { jobsOf } from './queued-jobs.ts'
import { queueOf } from './records.ts'

/** Minimum time until the next count, as a multiple of the duration of the last one. */
const REST = 20
/** How long (ms) a count is kept while the number of jobs does not change. */
const LIFETIME = 5_000

/** How long (ms) the names of pushes with a replay are kept. */
const NAMES_LIFETIME = 2_000

type Counted = { queued: number; at: number; took: number; replayed: number }

export type ReplayedJobs = ReturnType<typeof createReplayedJobs>

/**
 * Counts the queued events of pushes that a replay sends again. The status reads the counts each
 * second, so they are cached, and take at most a twentieth of the time.
 */
export function createReplayedJobs(
  store: Pick<Store, 'erasing'>,
  replays: () => Promise<readonly Pick<LongJob, 'target'>[]>,
) {
  const counted = new Map<string, Counted>()
  const hasReplay = createHasReplay(replays)
  return async (name: string, queued: number): Promise<number> => {
    if (queued === 0 || !(await hasReplay(name))) {
      counted.delete(name)
      return 0
    }
    const known = counted.get(name)
    const began = performance.now()
    const age = known ? began - known.at : Number.POSITIVE_INFINITY
    if (known && age < Math.max(known.took * REST, known.queued === queued ? LIFETIME : 0))
      return known.replayed
    const { jobs, isCut } = await jobsOf(store, queueOf(name), queued)
    const found = jobs.filter(({ id }) => isReplayedDelivery(id, `${queueOf(name)}/`)).length
    // Of a queue that is too long to be read, the share of the jobs that were read.
    const replayed = isCut ? Math.round((found / Math.max(1, jobs.length)) * queued) : found
    const at = performance.now()
    counted.set(name, { queued, at, took: at - began, replayed })
    return replayed
  }
}

/** Finds whether a push had a replay within the last week; otherwise no job has to be read. */
function createHasReplay(replays: () => Promise<readonly Pick<LongJob, 'target'>[]>) {
  let known: { at: number; names: Promise<ReadonlySet<unknown>> } | undefined
  return async (name: string): Promise<boolean> => {
    const time = performance.now()
    if (!known || time - known.at > NAMES_LIFETIME) {
      const names = replays().then((jobs) => new Set(jobs.map(({ target }) => target.subscription)))
      known = { at: time, names }
      // A failed read is repeated.
      names.catch(() => {
        known = undefined
      })
    }
    const { names } = known
    return (await names).has(name)
  }
}
