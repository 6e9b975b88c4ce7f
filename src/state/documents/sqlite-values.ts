import { DatabaseSync } from 'node:sqlite'
import { unwritable } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Values } from './store-backend.ts'

/** How long (ms) another process is waited for. */
const PATIENCE = 10_000

/** Keys and values in a SQLite file, safe between processes. What was set is durable when it resolves. */
export function createSqliteValues(path: string): Values & { close(): void } {
  let opened: DatabaseSync | undefined
  const using = <T>(work: (db: DatabaseSync) => T): T => {
    try {
      opened ??= open(path)
      return work(opened)
    } catch (error) {
      throw unwritable(path, error)
    }
  }

  return {
    get: async (key) =>
      using((db) => {
        const row = db.prepare('SELECT value, version FROM entry WHERE key = ?').get(key)
        if (!row) return undefined
        const value: Json = JSON.parse(String(row.value))
        return { value, version: Number(row.version) }
      }),
    set: async (key, value, { ifVersion } = {}) =>
      using((db) => {
        const row = db.prepare(SET).get({ key, value: JSON.stringify(value), expected: ifVersion ?? null })
        return row && Number(row.version)
      }),
    delete: async (key) => using((db) => db.prepare('DELETE FROM entry WHERE key = ?').run(key).changes > 0),
    list: async (prefix, limit) =>
      using((db) => {
        const rows = db.prepare('SELECT key FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT ?')
        return rows.all(prefix, `${prefix}\u{10FFFF}`, limit).map(({ key }) => String(key))
      }),
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

/** One statement, so no other process comes between the look and the write. */
const SET = `INSERT INTO entry (key, value, version)
  SELECT :key, :value, 1 WHERE coalesce(:expected, 0) = 0 OR EXISTS (SELECT 1 FROM entry WHERE key = :key)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = version + 1
    WHERE :expected IS NULL OR version = :expected
  RETURNING version`

function open(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: PATIENCE })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL) STRICT;`)
  return db
}
