import { reasonOf, TriviumError } from '../../core/errors.ts'

/** The primary result code of an SQLite error (https://sqlite.org/rescode.html), else undefined. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined
  return error.errcode & 0xff
}

/** PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOLFS, NOTADB. */
const ENVIRONMENT = new Set([3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26])

/**
 * True where the world failed (a full disk, an I/O error) and not one call: then the whole transaction is
 * off, and the same calls may work later.
 */
export function isEnvironmental(error: unknown): boolean {
  const code = sqliteCode(error)
  return code !== undefined && ENVIRONMENT.has(code)
}

/** The error that callers of the store get. */
export function toStoreError(store: string, error: unknown): unknown {
  if (error instanceof TriviumError || sqliteCode(error) === undefined) return error
  if (!isEnvironmental(error)) return error
  return new TriviumError('store_unavailable', { store, reason: reasonOf(error) }, { cause: error })
}
