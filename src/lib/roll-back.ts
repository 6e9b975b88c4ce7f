import type { DatabaseSync } from 'node:sqlite'
import { attempt } from './attempt.ts'

/**
 * Ends a transaction that failed. SQLite rolls back by itself after some errors, such as a full disk; another `ROLLBACK` would then
 * fail. An error in here would hide the one that made the transaction fail, so there is none.
 */
export function rollBack(db: DatabaseSync): void {
  if (db.isTransaction) attempt(() => db.exec('ROLLBACK'))
}
