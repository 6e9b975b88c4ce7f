import { DatabaseSync } from 'node:sqlite'
import { disk } from './disk.ts'

/**
 * Opens an SQLite file that only its owner can read. `timeout`: the maximum wait (ms) for the lock
 * of another process.
 */
export function openPrivateDatabase(path: string, timeout: number, schema: string): DatabaseSync {
  // If SQLite created the file, other users could read it, and SQLite would follow a symbolic link.
  // SQLite gives the other files of the database the same mode.
  disk.close(disk.open(path, 'a'))
  const db = new DatabaseSync(path, { timeout })
  try {
    db.exec(schema)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
