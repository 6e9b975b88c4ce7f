import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, TriviumError } from '../core/errors.ts'

type Handle = { database: DatabaseSync; begin: StatementSync; commit: StatementSync }

/** The operating system's lock on one file: exclusive between processes, and between callers of one process. */
export type FileLock = {
  /**
   * Resolves with the function that gives the lock back. Waits up to `timeout` ms (default 10 s) for other
   * processes, then throws `state_locked`; throws `state_unwritable` where the lock file cannot be made.
   */
  acquire(timeout?: number): Promise<() => void>
  close(): void
}

const SQLITE_BUSY = 5

/**
 * Makes a lock over the file at `path`. The kernel holds it for the process, so it is free the moment its
 * holder dies, by whatever signal. Node has no call for such locks; SQLite takes them on an empty database
 * (`BEGIN EXCLUSIVE`) and writes nothing, but for the first lock ever, which makes the file. Not for network file systems without POSIX locks.
 */
export function createFileLock(path: string): FileLock {
  let opened: Handle | undefined
  const open = (): Handle => {
    try {
      const database = new DatabaseSync(path, { timeout: 0 })
      return {
        database,
        begin: database.prepare('BEGIN EXCLUSIVE'),
        commit: database.prepare('COMMIT'),
      }
    } catch (error) {
      throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
    }
  }

  let isHeld = false
  const waiting: (() => void)[] = []

  return {
    async acquire(timeout = 10_000) {
      while (isHeld) await new Promise<void>((resolve) => waiting.push(resolve))
      isHeld = true
      try {
        opened ??= open()
        await lockInTime(opened.begin, path, timeout)
      } catch (error) {
        passOn()
        throw error
      }
      return () => {
        if (opened?.database.isOpen) opened.commit.run()
        passOn()
      }
    },
    close() {
      if (opened?.database.isOpen) opened.database.close()
      opened = undefined
    },
  }

  function passOn(): void {
    isHeld = false
    waiting.shift()?.()
  }
}

async function lockInTime(begin: StatementSync, path: string, timeout: number): Promise<void> {
  for (const end = performance.now() + timeout; !tryLock(begin, path); ) {
    if (performance.now() >= end) throw new TriviumError('state_locked', { path, seconds: timeout / 1000 })
    // A random pause, so that many who wait do not come back in step.
    await delay(Math.random() * 3)
  }
}

function tryLock(begin: StatementSync, path: string): boolean {
  try {
    begin.run()
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
}
