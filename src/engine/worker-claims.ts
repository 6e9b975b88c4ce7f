import type { ClaimedJob } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { Pumped } from './pump.ts'
import { LEASE, type WorkerOptions } from './worker-options.ts'
import type { Places } from './worker-places.ts'

/**
 * Maximum number of jobs per claim while all slots are taken: only jobs that take no slot are
 * claimed then.
 */
const MAX_WITHOUT_SLOT = 64

/**
 * Claims jobs while there is room, and refills the queue when none is left. `begin` starts a
 * claimed job.
 */
export function createClaims(options: WorkerOptions, places: Places, begin: (job: ClaimedJob) => void) {
  const { queue, store, lease = LEASE, now } = options
  /** The last step found nothing to claim, so the next one first refills the queue. */
  let isIdle = false
  /** The last claim took everything there was: the next one waits for a signal, or until `due`. */
  let isExhausted = false
  let due: number | undefined

  const refill = async () => (await options.refill?.()) ?? 'nothing'

  return {
    /** One step of a loop: `again`, or the ms until something is due. */
    async step(): Promise<'again' | number | undefined> {
      const free = places.free()
      const withoutSlot = options.withoutSlot?.()
      const isFull = free <= 0
      if (isFull && !withoutSlot?.size) return undefined
      let refilled: Pumped = isIdle ? await refill() : 'nothing'
      if (refilled === 'jobs') isExhausted = false
      if (!isExhausted || (due !== undefined && due <= now())) {
        const limits = places.room(isFull, withoutSlot)
        const max = isFull ? MAX_WITHOUT_SLOT : free
        const request = { max, lease, limits, ...defined({ busy: options.busy?.() }) }
        // Set before the call, so that a signal during the call counts.
        isExhausted = true
        const { items, more, nextDue } = await store.jobs.claim(queue, request)
        if (more) isExhausted = false
        due = nextDue
        for (const job of items) begin(job)
        refilled = items.length > 0 && (more || places.free() <= 0) ? 'jobs' : await refill()
        isIdle = refilled !== 'jobs'
        if (!isIdle) isExhausted = false
        if (!isIdle && (withoutSlot?.size || places.free() > 0)) return 'again'
      }
      if (refilled === 'more') return 'again'
      return due === undefined ? undefined : due - now()
    },
    /** Called when there may be jobs again: the next step asks the store. */
    look(): void {
      isExhausted = false
    },
  }
}
