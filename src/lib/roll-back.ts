import type { DatabaseSync } from 'node:sqlite'
import { attempt } from './attempt.ts'

/**
 * Ends a transaction that failed. SQLite rolls back by itself after some errors, such as a full
 * disk; another `ROLLBACK` would then fail. Never throws: that would hide the error that made the
 * transaction fail.
 */
export function rollBack(db: DatabaseSync): void {
  if (db.isTransaction) attempt(() => db.exec('ROLLBACK'))
}
