import { TriviumError } from '../core/errors.ts'
import type { Settled } from '../core/store.ts'
import { createBatcher } from '../lib/batch.ts'
import { pause } from '../lib/pause.ts'
import type { WorkerOptions } from './worker-options.ts'

/** Pause in ms after a store failure, to avoid a busy loop. */
export const STORE_PAUSE = 500

/** Stores how jobs ended, many at once. */
export function createSettler({ queue, store, log }: Pick<WorkerOptions, 'queue' | 'store' | 'log'>) {
  let isHurried = false
  const batcher = createBatcher<Settled, boolean | Error>({
    max: 256,
    run: (outcomes) => store.jobs.settle(queue, outcomes),
    failed: (answer) => (answer instanceof Error ? answer : undefined),
  })

  return {
    /**
     * False: the claim is lost, or the store refused. Tries again while the store is away: the claim is ours and renewed meanwhile, so
     * the job need not run twice.
     */
    async settle(settled: Settled): Promise<boolean> {
      for (let attempt = 1; ; attempt++) {
        try {
          const isOurs = (await batcher.add(settled)) === true
          if (!isOurs)
            log.warn({ queue, job: settled.id }, 'the claim had run out; the job is with another worker')
          return isOurs
        } catch (error) {
          const fields = { queue, job: settled.id, err: error }
          if (isHurried || !(error instanceof TriviumError && error.retryable)) {
            log.error(fields, 'the outcome could not be stored; the job will run again')
            return false
          }
          if (attempt === 1) log.warn(fields, 'the outcome could not be stored yet; trying again')
          await pause(STORE_PAUSE)
        }
      }
    },
    /** The grace of a drain is over: no more attempts. */
    hurry(): void {
      isHurried = true
    },
    idle: batcher.idle,
  }
}
