import { TriviumError } from '../core/errors.ts'
import { pause } from '../lib/pause.ts'
import { lockDirectory } from '../stores/embedded/database.ts'
import type { Environs } from './command.ts'

/** How long (ms) to wait for the store. */
const LOCK_TIMEOUT = 60_000
/** How long (ms) to wait before the reason is shown. */
const SHOW_REASON_AFTER = 1_000
/** Interval (ms) for checking whether a daemon has started. */
const CHECK_INTERVAL = 250
/** Pause (ms) between attempts: the minimum, and the random part. */
const PAUSE = { min: 10, random: 50 }

/**
 * Takes the lock of a data directory. Waits up to 60 s for other commands, and for a daemon that is
 * starting or stopping. Calls `instead` while another process has the lock; its first defined
 * result ends the wait and is returned. Throws `store_locked`, and errors of `instead`.
 */
export async function waitForLock<T>(
  dir: string,
  { tell }: Pick<Environs, 'tell'>,
  instead: (lockError: TriviumError) => Promise<T | undefined>,
): Promise<Disposable | T> {
  const began = performance.now()
  let isReasonShown = false
  let nextCheck = 0
  for (;;) {
    try {
      return lockDirectory(dir)
    } catch (error) {
      if (!(error instanceof TriviumError) || error.code !== 'store_locked') throw error
      const waited = performance.now() - began
      if (waited > LOCK_TIMEOUT) throw error
      if (waited >= nextCheck) {
        const result = await instead(error)
        if (result !== undefined) return result
        nextCheck = waited + CHECK_INTERVAL
      }
      if (!isReasonShown && waited > SHOW_REASON_AFTER) {
        isReasonShown = true
        tell?.(`Waiting up to ${LOCK_TIMEOUT / 1000} s. ${error.message}\n`)
      }
      // Random, so that waiting commands do not retry in step.
      await pause(PAUSE.min + Math.random() * PAUSE.random)
    }
  }
}
