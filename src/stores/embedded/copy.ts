import { statSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { TriviumError } from '../../core/errors.ts'
import { timeOf } from '../../core/message-id.ts'
import { openDatabase } from './database.ts'
import { toStoreError } from './store-error.ts'

/** The store's files in a data directory, which must not be copied directly. */
export const STORE_FILES = ['trivium.db', 'trivium.db-wal', 'trivium.db-shm']

/**
 * Copies a consistent snapshot of the database to a new file while a daemon writes. `progress` gets
 * 0 to 1.
 */
export async function copyDatabase(dir: string, to: string, progress: (part: number) => void): Promise<void> {
  const path = join(dir, 'trivium.db')
  // Opening a missing database would create it.
  if (!statSync(path, { throwIfNoEntry: false })) {
    const reason = 'the file does not exist. Name the data directory of your daemon with --data-dir'
    throw new TriviumError('backup_refused', { what: `A copy of ${path}`, reason })
  }
  try {
    using db = new DatabaseSync(path, { timeout: 5_000 })
    // SQLite's backup restarts whenever another connection writes, unless the reader holds a
    // transaction.
    db.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    await backup(db, to, {
      progress: ({ totalPages, remainingPages }) => progress(1 - remainingPages / totalPages),
    })
  } catch (error) {
    throw toStoreError(path, error)
  }
}

/**
 * Reads the whole database and counts its messages. Throws if it is damaged, and `store_version`.
 */
export function readDatabase(dir: string): { messages: number; newestAt?: number } {
  using db = openDatabase(dir)
  const problem = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check)
  if (problem !== 'ok') throw new Error(`its database is damaged: ${problem}`)
  const messages = Number(db.prepare('SELECT count(*) AS messages FROM journal').get()?.messages)
  const newest = db.prepare('SELECT id FROM journal ORDER BY seq DESC LIMIT 1').get()
  return { messages, ...(newest && { newestAt: timeOf(String(newest.id)) }) }
}

/**
 * Rewrites the database without free pages; returns sizes in bytes. The caller holds the
 * directory's lock.
 */
export function compactDatabase(dir: string): { before: number; after: number } {
  const path = join(dir, 'trivium.db')
  const size = () => statSync(path).size
  try {
    using db = openDatabase(dir)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const before = size()
    // The temporary data may be larger than memory.
    db.exec('PRAGMA temp_store = FILE; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    return { before, after: size() }
  } catch (error) {
    throw toStoreError(path, error)
  }
}
