import { join } from 'node:path'
import { createFileLock, type FileLock, type LockFailure } from './file-lock.ts'

const STRIPES = 16

/**
 * Mutual exclusion per name, within this process and between all that use the same folder. Names share sixteen lock files
 * in it by their hash.
 */
export function createNameLocks(folder: string, failure: LockFailure) {
  const stripes = new Map<string, FileLock>()

  return {
    /** Runs `work` while nobody else works under that name; throws the lock's failure after 10 s of waiting. */
    async hold<T>(name: string, work: () => Promise<T>): Promise<T> {
      const stripe = (hash(name) % STRIPES).toString(16)
      const lock = stripes.get(stripe) ?? createFileLock(join(folder, `.lock-${stripe}`), failure)
      stripes.set(stripe, lock)
      const release = await lock.acquire()
      try {
        return await work()
      } finally {
        release()
      }
    },
    close(): void {
      for (const lock of stripes.values()) lock.close()
      stripes.clear()
    },
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}
