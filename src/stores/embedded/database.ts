import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileReason, TriviumError } from '../../core/errors.ts'
import { attempt } from '../../lib/attempt.ts'
import { createFileLock } from '../../lib/file-lock.ts'

/** Bytes of a page. */
export const PAGE = 16_384
/** A write-ahead log of this many pages starts over. */
export const LONG_LOG = 3_000
/**
 * The log's file is not cut below this many pages. If it had to grow again, flushes would be
 * slower, because they would also flush its size.
 */
const LOG_PAGES = 4_100

/** The schema version. Each version has a file that migrates from the previous one. */
const VERSION = 8

/**
 * Opens `<dir>/trivium.db` and migrates its schema, each step in its own transaction. New files are
 * readable by their owner only. Throws `store_version` for a database of a newer Trivium, which is
 * not changed.
 */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, 'trivium.db')
  // If SQLite created the file, other users could read it. SQLite gives its other files the same
  // mode. If this fails, opening the database reports why.
  attempt(() => closeSync(openSync(path, 'a', 0o600)))
  using opened = new DisposableStack()
  const db = opened.use(new DatabaseSync(path, { timeout: 5_000 }))
  const found = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  if (found > VERSION) throw new TriviumError('store_version', { path, found, known: VERSION })
  configure(db)
  for (let version = found + 1; version <= VERSION; version++) {
    db.exec(`BEGIN IMMEDIATE; ${textOf(`schema-${version}`)}; PRAGMA user_version = ${version}; COMMIT`)
  }
  // The first read creates a missing log: a copy made by VACUUM INTO has none.
  db.exec('SELECT 1 FROM sqlite_schema')
  db.exec(textOf('views'))
  opened.move()
  return db
}

const textOf = (name: string) => readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8')

/**
 * NORMAL: a returned commit is in the log, and on disk once the writer has flushed the log. Pages
 * of 16 KB hold eleven messages of 1 KB, and avoid overflow pages for larger ones. Free pages are
 * reused, so trimming needs no vacuum. Deleted rows are overwritten in pages that are written
 * anyway. The checkpointer copies the log into the database. If it does not keep up, SQLite copies
 * the log in a commit.
 */
function configure(db: DatabaseSync): void {
  db.exec(`
    PRAGMA page_size = ${PAGE};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = ${LOG_PAGES};
    PRAGMA journal_size_limit = ${LOG_PAGES * PAGE};
    PRAGMA cache_size = -10240;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = FAST;
    PRAGMA foreign_keys = OFF;
  `)
}

/**
 * Locks a data directory for this process until it ends or disposes the result. A second file names
 * the holder. Throws `store_locked`.
 */
export function lockDirectory(dir: string): Disposable {
  const path = join(dir, 'trivium.lock')
  const note = `${path}.json`
  const lock = createFileLock(path, (_kind, cause) => {
    const reason = `${path} cannot be locked: ${fileReason(cause)}`
    return new TriviumError('store_unavailable', { store: dir, reason }, { cause })
  })
  if (!lock.tryAcquire()) {
    lock.close()
    throw new TriviumError('store_locked', { path: dir, holder: holderOf(note) })
  }
  const command = process.argv.slice(1).join(' ')
  writeFileSync(note, JSON.stringify({ pid: process.pid, command, since: new Date().toISOString() }), {
    mode: 0o600,
  })
  let isHeld = true
  return {
    [Symbol.dispose]() {
      // Only once: the note may belong to the next holder.
      if (isHeld) rmSync(note, { force: true })
      isHeld = false
      lock.close()
    },
  }
}

function holderOf(note: string): string {
  const { pid, command, since } = Object(attempt(() => JSON.parse(readFileSync(note, 'utf8'))))
  // A starting or stopping holder may have no note.
  return pid === undefined ? 'another process' : `process ${pid} (${command}) since ${since}`
}
