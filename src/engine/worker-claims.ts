import type { ClaimedJob } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { Pumped } from './pump.ts'
import { LEASE, type WorkerOptions } from './worker-options.ts'
import type { Places } from './worker-places.ts'

/** Claim size for jobs that take no slot. */
const UNPLACED = 64

/** Claims jobs while there is room, and refills the queue when none is left. `begin` starts a claimed job. */
export function createClaims(options: WorkerOptions, places: Places, begin: (job: ClaimedJob) => void) {
  const { queue, store, lease = LEASE, now } = options
  let isIdle = false
  /** The last claim found nothing, with room in every group: the next one waits for a signal or until `due`. */
  let isSpent = false
  let due: number | undefined

  const refill = async () => (await options.refill?.()) ?? 'nothing'

  return {
    /** One step of a loop: `again`, or the ms until something is due. */
    async step(): Promise<'again' | number | undefined> {
      const free = places.free()
      const unplaced = options.unplaced?.()
      const isFull = free <= 0
      if (isFull && !unplaced?.size) return undefined
      let brought: Pumped = isIdle ? await refill() : 'nothing'
      if (brought === 'jobs') isSpent = false
      if (!isSpent || (due !== undefined && due <= now())) {
        const limits = places.room(isFull, unplaced)
        const max = isFull ? UNPLACED : free
        const request = { max, lease, limits, ...defined({ busy: options.busy?.() }) }
        // Before the call, so that a signal during it counts.
        isSpent = true
        const { items, more, nextDue } = await store.jobs.claim(queue, request)
        if (more) isSpent = false
        due = nextDue
        for (const job of items) begin(job)
        brought = items.length > 0 && (more || places.free() <= 0) ? 'jobs' : await refill()
        isIdle = brought !== 'jobs'
        if (!isIdle) isSpent = false
        if (!isIdle && (unplaced?.size || places.free() > 0)) return 'again'
      }
      if (brought === 'unrouted') return 'again'
      return due === undefined ? undefined : due - now()
    },
    /** There may be jobs again: the next step asks the store. */
    look(): void {
      isSpent = false
    },
  }
}
