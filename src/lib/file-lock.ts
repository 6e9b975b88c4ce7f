import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { disk } from './disk.ts'
import { createTurns } from './turns.ts'

export type FileLock = ReturnType<typeof createFileLock>

/**
 * Makes the error of a lock that another process held for too long, or whose file cannot be
 * created.
 */
type LockFailure = (code: 'state_locked' | 'state_unwritable', cause?: unknown) => Error

const SQLITE_BUSY = 5
/** How long (ms) `during` waits for other processes. */
export const LOCK_TIMEOUT = 10_000
/** Maximum pause (ms) between attempts to take a lock. */
const MAX_PAUSE = 3

/**
 * An operating-system lock on a file, between processes and between callers, released when its
 * holder dies. Node has no API for it, so SQLite takes it on an empty database (`BEGIN EXCLUSIVE`).
 * Not for network file systems without POSIX locks.
 */
export function createFileLock(path: string, failure: LockFailure) {
  let opened: DatabaseSync | undefined
  const inTurn = createTurns()

  const tryAcquire = (): boolean => {
    try {
      opened ??= open(path)
      opened.exec('BEGIN EXCLUSIVE')
      return true
    } catch (error) {
      if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
      throw failure('state_unwritable', error)
    }
  }

  const locked = async <T>(work: () => Promise<T>): Promise<T> => {
    const deadline = performance.now() + LOCK_TIMEOUT
    while (!tryAcquire()) {
      if (performance.now() >= deadline) throw failure('state_locked')
      // A random pause, so that waiters do not retry in step.
      await delay(Math.random() * MAX_PAUSE)
    }
    try {
      return await work()
    } finally {
      if (opened?.isOpen) opened.exec('COMMIT')
    }
  }

  return {
    /** Runs `work` while holding the lock. Waits up to 10 s for other processes. */
    during: <T>(work: () => Promise<T>): Promise<T> => inTurn(() => locked(work)),
    /**
     * Takes the lock until `close`; false if it is taken. Do not mix with `during` in one process.
     */
    tryAcquire,
    close(): void {
      if (opened?.isOpen) opened.close()
      opened = undefined
    },
  }
}

function open(path: string): DatabaseSync {
  disk.makeDir(dirname(path))
  // If SQLite made the file, others could read it, and SQLite would follow a symbolic link.
  disk.close(disk.open(path, 'a'))
  return new DatabaseSync(path, { timeout: 0 })
}
