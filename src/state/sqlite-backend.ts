import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Commit, DocumentBackend, Stored } from './backend.ts'
import { type Change, formatDocument, parseDocument } from './document.ts'
import { LOG_LIMITS, type LogLimits, withWhole } from './log-limits.ts'

const BUSY = 5
const PATIENCE = 10_000
const PAGE = 1000

/**
 * Documents and their events in one SQLite file at `path`. A commit is one transaction; with `synchronous =
 * FULL` it is durable when it returns. `watchInterval` (ms): how often another process's commits are looked for.
 */
export function createSqliteBackend(options: {
  path: string
  watchInterval?: number
  limits?: LogLimits
}): DocumentBackend {
  const { path, limits = LOG_LIMITS } = options
  let opened: DatabaseSync | undefined
  const cache = new Map<string, Stored & { document: unknown }>()
  const database = () => {
    opened ??= open(path)
    return opened
  }

  return {
    kind: 'sqlite',
    locate: (name) => `${path} (document ${name})`,
    read: async (name) => readStored(database(), name),
    async transact(name, work) {
      const db = database()
      await exclusively(db, path, () => {
        const commit = work(readStored(db, name))
        if (commit) write(db, { name, commit, limits })
      })
    },
    async *changes(name, after) {
      const page = database().prepare(
        'SELECT seq, body FROM change WHERE name = ? AND seq > ? ORDER BY seq LIMIT ?',
      )
      for (let last = after; ; ) {
        const rows = page.all(name, last, PAGE)
        for (const row of rows) yield parseChange(String(row.body), path, name)
        if (rows.length < PAGE) return
        last = Number(rows.at(-1)?.seq)
      }
    },
    async backup(name, label) {
      const copy = `${name}.${label}`
      database()
        .prepare('INSERT OR REPLACE INTO kept (label, body) SELECT ?, body FROM document WHERE name = ?')
        .run(copy, name)
      return `${path} (kept ${copy})`
    },
    async setAside(name, what, label) {
      const db = database()
      const kept = `${name}.${what}.${label}`
      await exclusively(db, path, () => {
        db.prepare(`INSERT INTO kept (label, body) ${aside[what].select}`).run(kept, name)
        db.prepare(aside[what].remove).run(name)
      })
      return `${path} (kept ${kept})`
    },
    watch(_name, listener) {
      const version = () => Number(database().prepare('PRAGMA data_version').get()?.data_version)
      let seen = version()
      const timer = setInterval(() => {
        const now = version()
        if (now !== seen) listener()
        seen = now
      }, options.watchInterval ?? 200)
      timer.unref()
      return () => clearInterval(timer)
    },
    async close() {
      opened?.close()
      opened = undefined
      cache.clear()
    },
  }

  /** Parsed once per revision, so that what was checked stays checked. */
  function readStored(db: DatabaseSync, name: string): Stored {
    const row = db.prepare('SELECT revision, body FROM document WHERE name = ?').get(name)
    const revision = Number(row?.revision ?? lastSeq(db, name))
    if (!row) return { revision, missing: true }
    const known = cache.get(name)
    if (known?.revision === revision) return known
    try {
      const stored = { revision, document: parseDocument(String(row.body)) }
      cache.set(name, stored)
      return stored
    } catch {
      return { revision, edited: { text: String(row.body), at: 0 } }
    }
  }
}

const aside = {
  document: {
    select: 'SELECT ?, body FROM document WHERE name = ?',
    remove: 'DELETE FROM document WHERE name = ?',
  },
  events: {
    select: "SELECT ?, coalesce(group_concat(body, char(10)), '') FROM change WHERE name = ? ORDER BY seq",
    remove: 'DELETE FROM change WHERE name = ?',
  },
}

function open(path: string): DatabaseSync {
  try {
    const db = new DatabaseSync(path, { timeout: 0 })
    db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    db.exec(`CREATE TABLE IF NOT EXISTS document (name TEXT PRIMARY KEY, revision INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS change (
        name TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (name, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS kept (label TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
      PRAGMA busy_timeout = 0;`)
    return db
  } catch (error) {
    throw asUnwritable(error, path)
  }
}

/** Runs `work` as one transaction, in one turn; waits for other writers without holding up this process. */
async function exclusively(db: DatabaseSync, path: string, work: () => void): Promise<void> {
  for (const end = performance.now() + PATIENCE; ; await delay(Math.random() * 3)) {
    try {
      db.exec('BEGIN IMMEDIATE')
      work()
      db.exec('COMMIT')
      return
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      if (!isBusy(error)) throw asUnwritable(error, path)
      if (performance.now() > end) throw new TriviumError('state_locked', { path, seconds: PATIENCE / 1000 })
    }
  }
}

function write(
  db: DatabaseSync,
  { name, commit, limits }: { name: string; commit: Commit; limits: LogLimits },
): void {
  const { document } = commit
  const { changes, isWhole } = withWhole(commit.changes, document, limits)
  const insert = db.prepare('INSERT INTO change (name, seq, body) VALUES (?, ?, ?)')
  for (const change of changes) insert.run(name, change.seq, JSON.stringify(change))
  const last = changes.at(-1)?.seq ?? 0
  db.prepare('INSERT OR REPLACE INTO document (name, revision, body) VALUES (?, ?, ?)').run(
    name,
    last,
    formatDocument(document),
  )
  if (isWhole) db.prepare(TRIM).run({ name, spare: last - limits.kept })
}

/** Removes what came before the newest whole document that may be the log's beginning. */
const TRIM = `DELETE FROM change WHERE name = :name AND seq < (
  SELECT seq FROM change
  WHERE name = :name AND seq <= :spare
    AND CASE WHEN json_valid(body) THEN json_type(body, '$.document') END IS NOT NULL
  ORDER BY seq DESC LIMIT 1
)`

function lastSeq(db: DatabaseSync, name: string): number {
  return Number(db.prepare('SELECT max(seq) AS seq FROM change WHERE name = ?').get(name)?.seq ?? 0)
}

function parseChange(body: string, path: string, name: string): Change {
  try {
    return JSON.parse(body)
  } catch (error) {
    throw new TriviumError('state_corrupt', { path, name, reason: reasonOf(error) }, { cause: error })
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === BUSY
}

/** SQLite's own errors are about the file; anything else is what the caller's work threw. */
function asUnwritable(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('errcode' in error)) return error
  return new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
}
