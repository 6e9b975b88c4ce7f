import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { unwritable } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { disk } from '../../lib/disk.ts'
import { openPrivateDatabase } from '../../lib/private-database.ts'
import type { Values } from './store-backend.ts'

/** Maximum wait (ms) for the lock of another process. */
const LOCK_TIMEOUT = 10_000
const SCHEMA = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL) STRICT;
`

/**
 * Keys and values in an SQLite file, safe between processes. Writes are durable when they resolve.
 */
export function createSqliteValues(path: string): Values & { close(): void } {
  let opened: DatabaseSync | undefined
  const withDatabase = <T>(work: (db: DatabaseSync) => T): T => {
    try {
      opened ??= open(path)
      return work(opened)
    } catch (error) {
      throw unwritable(path, error)
    }
  }

  return {
    get: async (key) =>
      withDatabase((db) => {
        const row = db.prepare('SELECT value, version FROM entry WHERE key = ?').get(key)
        if (!row) return undefined
        const value: Json = JSON.parse(String(row.value))
        return { value, version: Number(row.version) }
      }),
    set: async (key, value, { ifVersion } = {}) =>
      withDatabase((db) => {
        const row = db.prepare(SET).get({ key, value: JSON.stringify(value), expected: ifVersion ?? null })
        return row && Number(row.version)
      }),
    delete: async (key) =>
      withDatabase((db) => db.prepare('DELETE FROM entry WHERE key = ?').run(key).changes > 0),
    list: async (prefix, limit, after = '') =>
      withDatabase((db) => {
        const rows = db
          .prepare('SELECT key FROM entry WHERE key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?')
          .all(prefix, `${prefix}\u{10FFFF}`, after, limit + 1)
        return { items: rows.slice(0, limit).map(({ key }) => String(key)), more: rows.length > limit }
      }),
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

/**
 * Sets a value if its version is `:expected` (null: any version; 0: only if there is no value). A
 * single statement, so that no other process can write between the check and the update.
 */
const SET = `INSERT INTO entry (key, value, version)
  SELECT :key, :value, 1 WHERE coalesce(:expected, 0) = 0 OR EXISTS (SELECT 1 FROM entry WHERE key = :key)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = version + 1
    WHERE :expected IS NULL OR version = :expected
  RETURNING version`

function open(path: string): DatabaseSync {
  disk.makeDir(dirname(path))
  return openPrivateDatabase(path, LOCK_TIMEOUT, SCHEMA)
}
