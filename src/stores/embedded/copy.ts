import { statSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { TriviumError } from '../../core/errors.ts'
import { openDatabase } from './database.ts'
import { toStoreError } from './writer.ts'

/** The files of the store in a data directory: none may be copied as it is. */
export const STORE_FILES = ['trivium.db', 'trivium.db-wal', 'trivium.db-shm']

/** Copies the database as it is at one moment to a new file, beside a daemon that writes on. `progress` gets the part done, 0 to 1. */
export async function copyDatabase(dir: string, to: string, progress: (part: number) => void): Promise<void> {
  const path = join(dir, 'trivium.db')
  // Opening it would make one.
  if (!statSync(path, { throwIfNoEntry: false })) {
    const reason = 'there is none; is TRIVIUM_DATA_DIR the one of your daemon?'
    throw new TriviumError('backup_refused', { what: `A copy of ${path}`, reason })
  }
  try {
    using db = new DatabaseSync(path, { timeout: 5_000 })
    // SQLite's backup begins anew whenever another connection writes, unless the reader stays in one transaction.
    db.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    await backup(db, to, {
      progress: ({ totalPages, remainingPages }) => progress(1 - remainingPages / totalPages),
    })
  } catch (error) {
    throw toStoreError(path, error)
  }
}

/** Rewrites the database without the pages that trimming left free; returns sizes in bytes. The caller holds the lock of the directory. */
export function compactDatabase(dir: string): { before: number; after: number } {
  const path = join(dir, 'trivium.db')
  const size = () => statSync(path).size
  try {
    using db = openDatabase(dir)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const before = size()
    // What is sorted anew may be larger than memory.
    db.exec('PRAGMA temp_store = FILE; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    return { before, after: size() }
  } catch (error) {
    throw toStoreError(path, error)
  }
}
