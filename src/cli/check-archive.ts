import * as fs from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileFailure, fileReason, TriviumError } from '../core/errors.ts'
import { counted } from '../lib/counted.ts'
import { disk } from '../lib/disk.ts'
import { createFileLock } from '../lib/file-lock.ts'
import { readDatabase } from '../stores/embedded/copy.ts'
import { type Daemon, progressOf, STDIO } from './backup-archive.ts'
import type { CommandContext } from './command.ts'
import { readArchive } from './read-archive.ts'
import { show } from './terminal.ts'

/**
 * Unpacks an archive into a temporary folder of the data directory, and opens its store as a
 * restore would. Changes nothing else. Throws `backup_unreadable`, `backup_refused` and
 * `store_version`.
 */
export async function checkArchive(file: string, daemon: Daemon, context: CommandContext): Promise<void> {
  const { dataDir: dir } = daemon
  disk.makeDir(dir)
  const lock = join(dir, 'check.lock')
  const result = await createFileLock(lock, fileFailure(lock)).during(() => check(file, daemon, context))
  const { at, files, store, messages, newestAt } = result
  const name = file === STDIO ? 'the archive' : file
  const newest = newestAt === undefined ? '' : `, the newest of ${newestAt}`
  show(
    context.terminal(),
    result,
    () =>
      `${name} can be restored: ${counted(files, 'file')}, as of ${at}; store: ${store}, ${counted(messages, 'message')}${newest}`,
  )
}

async function check(file: string, { dataDir: dir, redisPrefix: prefix }: Daemon, context: CommandContext) {
  const folder = join(dir, 'check.tmp')
  using progress = progressOf(context)
  try {
    // Left behind by a check that was killed.
    fs.rmSync(folder, { recursive: true, force: true })
    const { data, at, files, redis } = await readArchive(file, folder, progress.add)
    const { messages, newestAt } = redis ? await readRedis(redis, data, prefix) : readDatabase(data)
    return {
      at,
      files,
      store: redis ? 'redis' : 'embedded',
      messages,
      ...(newestAt !== undefined && { newestAt: new Date(newestAt).toISOString() }),
    }
  } catch (error) {
    if (error instanceof TriviumError) throw error
    throw new TriviumError('backup_unreadable', { path: file, reason: fileReason(error) }, { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function readRedis(
  { files, db }: { files: readonly string[]; db: number },
  data: string,
  prefix: string,
) {
  const { readServers } = await import('../stores/redis/copy.ts')
  const paths = files.map((name) => join(data, basename(name)))
  return readServers({ prefix, db }, paths)
}
