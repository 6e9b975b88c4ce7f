import { TriviumError } from '../core/errors.ts'
import { pause } from '../lib/pause.ts'
import { lockDirectory } from '../stores/embedded/database.ts'
import type { Environs } from './command.ts'

/** How long (ms) to wait for the store. After `QUIET`, the reason is shown. */
const PATIENCE = 60_000
const QUIET = 1_000
/** Interval (ms) for checking whether a daemon has started. */
const LOOK_EVERY = 250

/**
 * Takes the lock of a data directory. Waits up to 60 s for other commands, and for a daemon that is
 * starting or stopping. Calls `instead` while another process has the lock; its first value ends
 * the wait and is returned. Throws `store_locked`.
 */
export async function lockPatiently<T>(
  dir: string,
  { tell }: Pick<Environs, 'tell'>,
  instead: (locked: TriviumError) => Promise<T | undefined>,
): Promise<Disposable | T> {
  const began = performance.now()
  let isTold = false
  for (let nextLook = 0; ; ) {
    try {
      return lockDirectory(dir)
    } catch (error) {
      if (!(error instanceof TriviumError) || error.code !== 'store_locked') throw error
      const waited = performance.now() - began
      if (waited > PATIENCE) throw error
      if (waited >= nextLook) {
        const found = await instead(error)
        if (found !== undefined) return found
        nextLook = waited + LOOK_EVERY
      }
      if (!isTold && waited > QUIET) {
        isTold = true
        tell?.(`Waiting up to ${PATIENCE / 1000} s. ${error.message}\n`)
      }
      // Random, so that waiting commands do not retry in step.
      await pause(10 + Math.random() * 50)
    }
  }
}
