import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Erasing } from '../../core/erasing.ts'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { PAGE } from './database.ts'
import type { Writer } from './writer.ts'

/** Free pages that one transaction overwrites. */
const SLICE = 256
/** Maximum number of checkpoints while somebody reads the log. */
const MAX_CHECKPOINTS = 100
/** Pause (ms) between these checkpoints. */
const CHECKPOINT_PAUSE = 50
/**
 * Maximum size (bytes) of a database that is rewritten. A rewrite takes a second per 100 MB, in
 * which nothing else can be written.
 */
const MAX_REWRITTEN = 128 * 1024 * 1024

type Database = {
  prepare(sql: string): { get(): Record<string, unknown> | undefined }
  exec(sql: string): void
}

/**
 * Overwrites erased data on the disk. SQLite overwrites removed rows (`secure_delete = FAST`), but
 * neither pages that became free nor old copies of rows that it moved to another page, which stay
 * in the unused part of the page. This fills the free pages with zeros, a limited number at a time,
 * writes the database anew if it is small enough, and copies the log into the database.
 */
export function createOverwrite(
  writer: Pick<Writer, 'write' | 'hold'>,
  db: Database,
  path: string,
  log: Pick<Log, 'warn'>,
  { maxRewritten = MAX_REWRITTEN } = {},
): Erasing['overwrite'] {
  const pragma = (name: string) => db.prepare(`PRAGMA ${name}`).get()
  const pages = (name: 'freelist_count' | 'page_count') => Number(pragma(name)?.[name])

  async function fillFree(): Promise<void> {
    await writer.write(() => db.exec('CREATE TABLE IF NOT EXISTS overwritten (bytes BLOB)'))
    // Pages that become free meanwhile contain no erased data.
    for (let left = pages('freelist_count'); left > 0; left -= SLICE) {
      const count = Math.min(SLICE, left)
      await writer.write(() => db.exec(`INSERT INTO overwritten VALUES (zeroblob(${count * PAGE}))`))
    }
    await writer.write(() => db.exec('DROP TABLE overwritten'))
  }

  async function emptyLog(): Promise<void> {
    for (let attempt = 0; attempt < MAX_CHECKPOINTS; attempt++) {
      if (pragma('wal_checkpoint(TRUNCATE)')?.busy === 0) return
      await setTimeout(CHECKPOINT_PAUSE)
    }
  }

  /** Returns whether it succeeded: there may be no space for a second copy. */
  async function tryRewrite(): Promise<boolean> {
    try {
      await writer.hold(() => rewrite(path))
      return true
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the database could not be rewritten; `trivium compact` does so')
      return false
    }
  }

  return async () => {
    await fillFree()
    const isSmall = (pages('page_count') - pages('freelist_count')) * PAGE <= maxRewritten
    const isRewritten = isSmall && (await tryRewrite())
    await emptyLog()
    return { isRewritten }
  }
}

/**
 * Writes the database anew, in another thread: this one still answers and reads. Rejects with the
 * error of SQLite.
 */
async function rewrite(path: string): Promise<void> {
  const worker = new Worker(new URL('./rewrite-worker.js', import.meta.url), { workerData: { path } })
  await new Promise<void>((resolve, reject) => {
    worker.once('error', reject)
    worker.once('exit', () => resolve())
  })
}
