import { TriviumError } from '../core/errors.ts'
import type { Settled } from '../core/store.ts'
import { createBatcher } from '../lib/batch.ts'
import { pause } from '../lib/pause.ts'
import type { WorkerOptions } from './worker-options.ts'

/** Pause in ms after a store failure, to avoid a busy loop. */
export const STORE_PAUSE = 500

/** Stores the outcomes of jobs, in batches. */
export function createSettler({ queue, store, log }: Pick<WorkerOptions, 'queue' | 'store' | 'log'>) {
  let isHurried = false
  const batcher = createBatcher<Settled, boolean | Error>({
    max: 256,
    run: (outcomes) => store.jobs.settle(queue, outcomes),
    failed: (answer) => (answer instanceof Error ? answer : undefined),
  })

  return {
    /**
     * Returns false if the claim is lost, or if the store refuses the outcome. Retries while the
     * store is unreachable: meanwhile the claim is renewed, so that the job does not run twice.
     */
    async settle(settled: Settled): Promise<boolean> {
      for (let attempt = 1; ; attempt++) {
        try {
          const isOurs = (await batcher.add(settled)) === true
          if (!isOurs) log.warn({ queue, job: settled.id }, 'the claim expired; another worker has the job')
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
    /** Ends the retries: the grace period of a stop is over. */
    hurry(): void {
      isHurried = true
    },
    idle: batcher.idle,
  }
}
