import { reasonOf, TriviumError } from '../../core/errors.ts'

/**
 * Primary result codes of SQLite for a failure of the environment: PERM, BUSY, LOCKED, NOMEM,
 * READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, NOTADB
 * (https://sqlite.org/rescode.html).
 */
const ENVIRONMENT = new Set([3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26])

/** Whether the environment failed rather than this call. The whole transaction then fails. */
export function isEnvironmental(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  return ENVIRONMENT.has(error.errcode & 0xff)
}

/** The error that callers of the store see. */
export function toStoreError(store: string, error: unknown): unknown {
  if (!isEnvironmental(error)) return error
  return new TriviumError('store_unavailable', { store, reason: reasonOf(error) }, { cause: error })
}
