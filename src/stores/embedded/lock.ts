import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { createFileLock } from '../../lib/file-lock.ts'

/**
 * Makes this process the only user of a data directory, until the returned function is called or the process ends, in
 * whatever way. A second file names the holder for people. Throws `store_locked`.
 */
export function lockDirectory(dir: string): () => void {
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
  return () => {
    rmSync(note, { force: true })
    lock.close()
  }
}

function holderOf(note: string): string {
  try {
    const { pid, command, since } = JSON.parse(readFileSync(note, 'utf8'))
    return `process ${pid} (${command}) since ${since}`
  } catch {
    // The holder is just starting or stopping. That it holds the lock is all that is known.
    return 'another process'
  }
}
