import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/** The write-ahead log of a database as a file, to flush it beside the event loop. */
export type WalFile = {
  /** Resolves when all that was committed before the call is on the disk (fdatasync(2) in the thread pool). */
  flush(): Promise<void>
  /** The same at once, for the end of the process. */
  flushSync(): void
  /** After the flush that is under way. Before the database is closed, which removes the file. */
  close(): Promise<void>
}

const flushFile = promisify(fdatasync)

/**
 * Opens the log of the database at `path`, which has been written or read in WAL mode, so that the log is there.
 * SQLite takes its locks on the database and the `-shm` file, so closing this handle drops none of them
 * (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export function openWalFile(path: string): WalFile {
  // Windows flushes only what may be written.
  const file = openSync(`${path}-wal`, 'r+')
  flushEntry(dirname(path))
  let last: Promise<void> = Promise.resolve()
  return {
    flush: () => {
      const flush = flushFile(file)
      last = flush.catch(() => {})
      return flush
    },
    flushSync: () => fdatasyncSync(file),
    close: async () => {
      await last
      closeSync(file)
    },
  }
}

/** A log that was just made must be found again after a power failure. Windows has no such thing for a folder. */
function flushEntry(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
