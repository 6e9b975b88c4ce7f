import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TriviumError } from '../../core/errors.ts'
import { int } from './sql.ts'

/** One file per schema version, in order; the first makes version 1. */
const MIGRATIONS = ['./schema-1.sql', './schema-2.sql']

/**
 * Opens `<dir>/trivium.db` and brings its schema up to date, each migration in a transaction of its own.
 * A new file is its owner's alone. Throws `store_version` for a database of a newer Trivium, which is left as it is.
 */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, 'trivium.db')
  makeOwn(path)
  const db = new DatabaseSync(path, { timeout: 5_000 })
  try {
    const found = schemaVersion(db)
    if (found > MIGRATIONS.length) {
      throw new TriviumError('store_version', { path, found, known: MIGRATIONS.length })
    }
    configure(db)
    for (const [index, file] of MIGRATIONS.entries()) if (index >= found) migrate(db, file, index + 1)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** SQLite would go by the umask, and makes the files beside it like this one. */
function makeOwn(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite, which opens it next, says why it cannot.
  }
}

/**
 * NORMAL: a commit is in the log when it returns, and on the disk when the writer has flushed the log. Pages of 16 KB
 * hold eleven messages of 1 KB with little space between them, and keep larger ones out of overflow pages. Freed pages
 * are used again, so a file that trimming keeps at its size needs no vacuum. The checkpointer moves the log into the
 * database; from 4,000 pages on each commit moves what it left, so that the log starts over and does not grow without
 * end under load.
 */
function configure(db: DatabaseSync): void {
  db.exec(`
    PRAGMA page_size = 16384;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA cache_size = -10240;
    PRAGMA temp_store = MEMORY;
    PRAGMA foreign_keys = OFF;
  `)
}

function migrate(db: DatabaseSync, file: string, version: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(readFileSync(new URL(file, import.meta.url), 'utf8'))
    db.exec(`PRAGMA user_version = ${version}`)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

function schemaVersion(db: DatabaseSync): number {
  return int(db.prepare('PRAGMA user_version').get()?.user_version)
}
