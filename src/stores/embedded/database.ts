import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { attempt } from '../../lib/attempt.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import type { Writer } from './writer.ts'

/** The version of the schema. Each has a file, that makes it of the one before. */
const VERSION = 5

/**
 * Opens `<dir>/trivium.db` and brings its schema up to date, each migration in a transaction of its own.
 * A new file is its owner's alone. Throws `store_version` for a database of a newer Trivium, which is left as it is.
 */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, 'trivium.db')
  // SQLite would go by the umask, and makes the files beside it like this one. It says, too, why that cannot be.
  attempt(() => closeSync(openSync(path, 'a', 0o600)))
  using opened = new DisposableStack()
  const db = opened.use(new DatabaseSync(path, { timeout: 5_000 }))
  const found = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  if (found > VERSION) throw new TriviumError('store_version', { path, found, known: VERSION })
  configure(db)
  for (let version = found + 1; version <= VERSION; version++) {
    db.exec(`BEGIN IMMEDIATE; ${textOf(`schema-${version}`)}; PRAGMA user_version = ${version}; COMMIT`)
  }
  // The first read makes the log of a file that had none: a copy by VACUUM INTO.
  db.exec('SELECT 1 FROM sqlite_schema')
  db.exec(textOf('views'))
  opened.move()
  return db
}

const textOf = (name: string) => readFileSync(new URL(`./${name}.sql`, import.meta.url), 'utf8')

/**
 * NORMAL: a commit is in the log when it returns, and on the disk when the writer has flushed the log. Pages of 16 KB hold eleven
 * messages of 1 KB, and keep larger ones out of overflow pages. Freed pages are used again: trimming needs no vacuum. The
 * checkpointer moves the log into the database; from 4,000 pages on each commit moves what it left, so that the log starts over.
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

/** Commits between two checkpoints. */
const EVERY = 64

/**
 * Keeps the write-ahead log short, in a worker: copying and flushing thousands of pages would stall all messages. Under constant
 * load that never sees the end of the log: what is left SQLite itself copies, as `wal_autocheckpoint` above says. Returns what ends it.
 */
export function createCheckpointer(writer: Writer, path: string, log: Log) {
  let worker: Worker | undefined
  let commits = 0
  let busy = false

  const begin = () => {
    const made = new Worker(new URL('./checkpoint-worker.js', import.meta.url), { workerData: path })
    made.unref()
    made.on('message', (failure: string) => {
      busy = false
      if (failure) log.warn({ reason: failure }, 'a checkpoint of the store failed; it will be tried again')
    })
    made.on('error', (error) => {
      busy = true
      log.error(
        { reason: reasonOf(error) },
        'the checkpoint thread of the store failed; checkpoints go on without it',
      )
    })
    return made
  }
  writer.follow({
    committed: () => {
      commits++
      if (busy || commits < EVERY) return
      busy = true
      commits = 0
      // The first, so that a start does without the thread.
      worker ??= begin()
      worker.postMessage('checkpoint')
    },
  })
  return () => worker?.terminate()
}

/** Makes this process the only user of a data dir, until it ends or calls what is returned. A second file names it. Throws `store_locked`. */
export function lockDirectory(dir: string): Disposable {
  const path = join(dir, 'trivium.lock')
  const note = `${path}.json`
  const lock = createFileLock(path, (_kind, cause) => {
    const reason = `${path} cannot be locked: ${reasonOf(cause)}`
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
      // Once: the note may be that of the next holder.
      if (isHeld) rmSync(note, { force: true })
      isHeld = false
      lock.close()
    },
  }
}

function holderOf(note: string): string {
  const { pid, command, since } = Object(attempt(() => JSON.parse(readFileSync(note, 'utf8'))))
  // A holder that is just starting or stopping has not said.
  return pid === undefined ? 'another process' : `process ${pid} (${command}) since ${since}`
}
