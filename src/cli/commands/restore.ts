import * as fs from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { z } from 'zod'
import { TriviumError, unwritable } from '../../core/errors.ts'
import { silent } from '../../core/log.ts'
import { pauseStore } from '../../features/store-pause/record.ts'
import { counted } from '../../lib/counted.ts'
import { disk, syncDir } from '../../lib/disk.ts'
import { openDatabase } from '../../stores/embedded/database.ts'
import { archivePath, type Daemon, isLocal, type manifestSchema, progressOf } from '../backup-archive.ts'
import { checkArchive } from '../check-archive.ts'
import type { AddCommand, CommandContext } from '../command.ts'
import { lockAlone } from '../connection.ts'
import { loadForCopy } from '../data-dir.ts'
import { readArchive } from '../read-archive.ts'
import { show } from '../terminal.ts'

export const addRestore: AddCommand = (program, context) => {
  program
    .command('restore')
    .argument('<file>', 'the archive; - is stdin')
    .description(
      'restore an archive of `trivium backup` into an empty data directory or Redis that no daemon uses',
    )
    .option('--force', 'if it is not empty, move its content to a folder before-restore-… in it')
    .option(
      '--empty-redis',
      'delete the keys of Trivium in Redis first, once the archive was read; stop all daemons before',
    )
    .option('--paused', 'daemons only accept messages until `trivium daemon resume`')
    .option('--check', 'only read the archive and count its messages; a daemon may be running')
    .action(async (given: string, options: Options) => {
      const file = archivePath(given, context.environs().cwd)
      const { daemon } = await loadForCopy(context.environs(), context.terminal().err)
      if (options.check) return checkArchive(file, daemon, context)
      const dir = daemon.dataDir
      using _lock = await lockAlone(dir, context.environs())
      const result = await restore(file, daemon, options, context)
      const { files, at, aside } = result
      const previous = aside ? `; the previous content is in ${aside}` : ''
      const paused = options.paused ? '; everything is paused until `trivium daemon resume`' : ''
      show(
        context.terminal(),
        result,
        () => `${dir}: ${counted(files, 'file')}, as of ${at}${previous}${paused}`,
      )
    })
}

type Options = { force?: true; emptyRedis?: true; paused?: true; check?: true }

async function restore(file: string, daemon: Daemon, options: Options, context: CommandContext) {
  const { dataDir: dir } = daemon
  const old = fs.readdirSync(dir).filter((name) => !isLocal(name))
  if (old.length > 0 && !options.force) {
    const reason = `${old[0]} already exists. With --force, the existing content is moved to a separate folder`
    throw new TriviumError('backup_refused', { what: `Restoring into ${dir}`, reason })
  }
  const folder = join(dir, 'restore.tmp')
  using progress = progressOf(context)
  try {
    fs.rmSync(folder, { recursive: true, force: true })
    const { data, files, at, redis } = await readArchive(file, folder, progress.add)
    await restoreStore(daemon, data, redis, { progress, empty: options.emptyRedis === true })
    if (options.paused) await pauseRestored(redis ? daemon : { ...daemon, dataDir: data })
    const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '')
    const aside = old.length > 0 ? join(dir, `before-restore-${stamp}`) : undefined
    if (aside) {
      disk.makeDir(aside)
      for (const name of old) disk.rename(join(dir, name), join(aside, name))
    }
    for (const name of fs.readdirSync(data)) disk.rename(join(data, name), join(dir, name))
    await syncDir(dir)
    return { dir, at, files, aside }
  } catch (error) {
    throw unwritable(dir, error)
  } finally {
    // Retries, because after a failure some files may still be written.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Pauses the restored store, which no daemon uses. */
async function pauseRestored(daemon: Daemon): Promise<void> {
  const { openStore } = await import('../../daemon/open-store.ts')
  // The unpacked data directory needs no lock: only this command uses it.
  const store = await openStore(daemon, { log: silent, lock: new DisposableStack() })
  try {
    await pauseStore(store.kv, Date.now())
  } finally {
    await store.close()
  }
}

/** Restores the copies of Redis, or checks that this version can open the database. */
async function restoreStore(
  { redisUrl: url, redisPrefix: prefix, redis }: Daemon,
  data: string,
  copy: z.output<typeof manifestSchema>['redis'],
  { progress, empty }: { progress: ReturnType<typeof progressOf>; empty: boolean },
) {
  if (copy && url !== undefined) {
    const { restoreServers } = await import('../../stores/redis/copy.ts')
    const files = copy.files.map((name) => join(data, basename(name)))
    await restoreServers({ url, prefix, ...redis, db: copy.db, empty, log: silent }, files, progress.add)
    for (const each of files) fs.rmSync(each)
  } else if (copy || url !== undefined) {
    const reason = copy
      ? 'the archive is of Redis, and there is none here: set REDIS_URL'
      : 'the archive is of the embedded store, and the store here is Redis: unset REDIS_URL'
    throw new TriviumError('backup_refused', { what: 'Restoring', reason })
  } else openDatabase(data).close()
}
