import * as fs from 'node:fs'
import { chmod, open, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join, normalize, relative, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type ReadEntry } from 'tar'
import type { z } from 'zod'
import { reasonOf, TriviumError, unwritable } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { silent } from '../../core/log.ts'
import { counted } from '../../lib/counted.ts'
import { disk, syncDir } from '../../lib/disk.ts'
import { openDatabase } from '../../stores/embedded/database.ts'
import {
  DATA,
  type Daemon,
  EXCLUDED,
  FORMAT,
  isLocal,
  MANIFEST,
  manifestSchema,
  progressOf,
} from '../backup-archive.ts'
import type { AddCommand, CommandContext } from '../command.ts'
import { lockAlone } from '../connection.ts'
import { loadWithDataDir } from '../data-dir.ts'
import { show } from '../terminal.ts'

export const addRestore: AddCommand = (program, context) => {
  program
    .command('restore <file>')
    .description(
      'restore an archive of `trivium backup` into an empty data directory or Redis that no daemon uses',
    )
    .option('--force', 'if it is not empty, move its content to a folder before-restore-… in it')
    .action(async (given: string, { force }: { force?: true }) => {
      const file = resolve(context.environs().cwd, given)
      const { daemon } = await loadWithDataDir(context.environs())
      const dir = daemon.dataDir
      using _lock = await lockAlone(dir, context.environs())
      const result = await restore(file, daemon, force === true, context)
      const { files, at, aside } = result
      const previous = aside ? `; the previous content is in ${aside}` : ''
      show(context.terminal(), result, () => `${dir}: ${counted(files, 'file')}, as of ${at}${previous}`)
    })
}

async function restore(file: string, daemon: Daemon, force: boolean, context: CommandContext) {
  const { dataDir: dir } = daemon
  const old = fs.readdirSync(dir).filter((name) => !isLocal(name))
  if (old.length > 0 && !force) {
    const reason = `${old[0]} already exists. With --force, the existing content is moved to a separate folder`
    throw new TriviumError('backup_refused', { what: `Restoring into ${dir}`, reason })
  }
  const folder = join(dir, 'restore.tmp')
  using progress = progressOf(context)
  try {
    fs.rmSync(folder, { recursive: true, force: true })
    const { data, files, at, redis } = await readArchive(file, folder, progress.add)
    await restoreStore(daemon, data, redis, progress)
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

/** Restores the copies of Redis, or checks that the database can be opened: that of a newer Trivium cannot. */
async function restoreStore(
  { redisUrl: url, redisPrefix: prefix, redis }: Daemon,
  data: string,
  copy: z.output<typeof manifestSchema>['redis'],
  progress: ReturnType<typeof progressOf>,
) {
  if (copy && url !== undefined) {
    const { restoreServers } = await import('../../stores/redis/copy.ts')
    const files = copy.files.map((name) => join(data, basename(name)))
    await restoreServers({ url, prefix, ...redis, db: copy.db, log: silent }, files, progress.add)
    for (const each of files) fs.rmSync(each)
  } else if (copy || url !== undefined) {
    const reason = copy
      ? 'the archive is of Redis, and there is none here: set REDIS_URL'
      : 'the archive is of the embedded store, and the store here is Redis: unset REDIS_URL'
    throw new TriviumError('backup_refused', { what: 'Restoring', reason })
  } else openDatabase(data).close()
}

/**
 * Unpacks an archive and flushes each file. Throws `backup_unreadable` for an incomplete one, and
 * `store_version`.
 */
async function readArchive(path: string, dir: string, progress: (piece: { length: number }) => void) {
  const data = join(dir, DATA)
  disk.makeDir(data)
  try {
    await pipeline(
      fs.createReadStream(path).on('data', progress),
      // Not left to tar, which may end before the checksum at the end is verified.
      createGunzip(),
      extract({ cwd: dir, strict: true, filter: isWanted }),
    )
    const found = manifestSchema.safeParse(parseJson(await readFile(join(dir, MANIFEST), 'utf8')))
    if (!found.success) throw new Error(`its ${MANIFEST} was not written by Trivium`)
    const { format } = found.data
    if (format > FORMAT) throw new TriviumError('store_version', { path, found: format, known: FORMAT })
    let files = 0
    // Makes all files private, whatever modes the archive has.
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      await chmod(path, entry.isDirectory() ? 0o700 : 0o600)
      if (!entry.isFile()) continue
      await using handle = await open(path, 'r+')
      await handle.sync()
      files++
    }
    if (files !== found.data.files) throw new Error(`it has ${files} of ${found.data.files} files`)
    return { ...found.data, data }
  } catch (error) {
    if (error instanceof TriviumError) throw error
    throw new TriviumError('backup_unreadable', { path, reason: reasonOf(error) }, { cause: error })
  }
}

/**
 * Accepts only files, no symbolic links, and nothing that `trivium backup` excludes: a control token in an archive must
 * not be restored.
 */
function isWanted(path: string, entry: fs.Stats | ReadEntry): boolean {
  const isFile = 'type' in entry && (entry.type === 'File' || entry.type === 'Link')
  return isFile && !pathsOf(relative(DATA, normalize(path))).some(isExcluded)
}

/** A path and the folders in which it is: `a/b/c`, `a/b`, `a`. */
function pathsOf(name: string): string[] {
  const parts = name.split(sep)
  return parts.map((_, index) => parts.slice(0, index + 1).join(sep))
}

function isExcluded(name: string): boolean {
  return isLocal(name) || (EXCLUDED.includes(name) && name !== 'trivium.db')
}
