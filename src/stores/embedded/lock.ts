import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { sqliteCode } from './failure.ts'

const SQLITE_BUSY = 5

const Holder = z.object({ pid: z.number(), command: z.string(), since: z.string() })

/**
 * Makes this process the only writer of a data directory, until the returned function is called or the
 * process ends, in whatever way: the lock is the operating system's, on an SQLite file of its own. A side
 * file names the holder for people. Throws `store_locked`.
 */
export function lockDirectory(dir: string): () => void {
  const lock = new DatabaseSync(join(dir, 'trivium.lock'), { timeout: 0 })
  const side = join(dir, 'trivium.lock.json')
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (sqliteCode(error) !== SQLITE_BUSY) throw error
    throw new TriviumError('store_locked', { path: dir, holder: holderOf(side) }, { cause: error })
  }
  const holder = {
    pid: process.pid,
    command: process.argv.slice(1).join(' '),
    since: new Date().toISOString(),
  }
  writeFileSync(side, JSON.stringify(holder))
  return () => {
    rmSync(side, { force: true })
    lock.exec('ROLLBACK')
    lock.close()
  }
}

function holderOf(side: string): string {
  try {
    const { pid, command, since } = Holder.parse(JSON.parse(readFileSync(side, 'utf8')))
    return `process ${pid} (${command}) since ${since}`
  } catch {
    // The holder is just starting or stopping; that it holds the lock is all that is known.
    return 'another process'
  }
}
