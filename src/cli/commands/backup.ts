import * as fs from 'node:fs'
import { chmod, open, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join, normalize, relative, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { create, extract, type ReadEntry } from 'tar'
import { z } from 'zod'
import { fileFailure, reasonOf, TriviumError, unwritable } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { silent } from '../../core/log.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { disk, isMissing, syncDir, temporaryName } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { compactDatabase, copyDatabase, STORE_FILES } from '../../stores/embedded/copy.ts'
import { openDatabase } from '../../stores/embedded/database.ts'
import type { AddCommand, CommandContext } from '../command.ts'
import { lockAlone } from '../connection.ts'
import { loadPlaced } from '../data-dir.ts'
import { megabytes, show } from '../terminal.ts'

/** The version of the archive format: the one that is written, and the newest that can be read. */
const FORMAT = 1

const manifestSchema = z.object({
  format: z.int(),
  /** The time (ISO 8601) that the copy of the store shows. */
  at: z.string(),
  /** For Redis: the files of its servers, and the database number. */
  redis: z.object({ files: z.array(z.string()), db: z.int() }).exactOptional(),
  /** Number of files below `data/`. */
  files: z.int(),
})

/** The last entry of an archive. Without it, the archive is incomplete. */
const MANIFEST = 'manifest.json'
const DATA = 'data'
type Daemon = Awaited<ReturnType<typeof loadPlaced>>['daemon']

/** Excluded files; the database is copied separately. */
const NONE_OF_IT = [...STORE_FILES, 'artifacts/incoming', 'search.db', 'search.db-wal', 'search.db-shm']

export const addBackup: AddCommand = (program, context) => {
  program
    .command('backup <file>')
    .description('copy the store and the data directory into one archive, even while the daemon runs')
    .action(async (given: string) => {
      const file = resolve(context.environs().cwd, given)
      const { daemon } = await loadPlaced(context.environs())
      const dir = daemon.dataDir
      disk.makeDir(dir)
      const lock = join(dir, 'backup.lock')
      // A concurrent backup would overwrite this copy.
      const done = await createFileLock(lock, fileFailure(lock)).during(() => backUp(daemon, file, context))
      const { files, bytes, at } = done
      show(
        context.terminal(),
        done,
        () => `${file}: ${counted(files, 'file')}, ${megabytes(bytes)}, as of ${at}`,
      )
    })
}

async function backUp(daemon: Daemon, file: string, context: CommandContext) {
  const { dataDir: dir } = daemon
  const folder = join(dir, 'backup.tmp')
  const data = join(folder, DATA)
  const temporary = temporaryName(file)
  using progress = progressOf(context)
  try {
    // Left behind by a backup that was killed.
    fs.rmSync(folder, { recursive: true, force: true })
    disk.makeDir(data)
    const at = new Date().toISOString()
    const redis = await copyStore(daemon, data, progress)
    // After the store, so that all files of its messages are included.
    const files = (redis?.files.length ?? 1) + linkFiles(dir, data)
    fs.writeFileSync(
      join(folder, MANIFEST),
      JSON.stringify({ format: FORMAT, at, files, ...defined({ redis }) }),
    )
    const out = fs.createWriteStream(temporary, { fd: disk.open(temporary, 'w'), flush: true })
    // Level 1: a much faster backup is worth a slightly larger archive.
    const zip = createGzip({ level: 1 }).on('data', progress.add)
    await pipeline(create({ cwd: folder, portable: true }, [DATA, MANIFEST]), zip, out)
    disk.rename(temporary, file)
    return { file, at, files, bytes: fs.statSync(file).size }
  } catch (error) {
    throw unwritable(file, error)
  } finally {
    disk.remove(temporary)
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

async function copyStore(daemon: Daemon, data: string, progress: ReturnType<typeof progressOf>) {
  const { redisUrl: url, redis } = daemon
  if (url !== undefined) {
    const { dumpServers } = await import('../../stores/redis/copy.ts')
    return dumpServers({ url, ...redis, log: silent }, data, progress.add)
  }
  const copy = join(data, 'trivium.db')
  disk.close(disk.open(copy, 'w'))
  await copyDatabase(daemon.dataDir, copy, (part) => progress.show(`database: ${Math.round(part * 100)} %`))
  return undefined
}

/**
 * Hard-links the files of a folder (or copies them to another disk) into `to`, so that they stay
 * unchanged. Returns their number.
 */
function linkFiles(from: string, to: string, below = ''): number {
  disk.makeDir(join(to, below))
  const found = fs.readdirSync(join(from, below)).map((entry) => {
    const name = join(below, entry)
    // Follows links, because a large folder may be on another disk.
    return { name, stat: fs.statSync(join(from, name), { throwIfNoEntry: false }) }
  })
  const wanted = found.filter(({ name }) => !isOfThisMachine(name) && !NONE_OF_IT.includes(name))
  // Logs first, because a full log is soon renamed.
  const files = wanted.filter(
    ({ name, stat }) => stat?.isFile() && linkFile(join(from, name), join(to, name)),
  )
  const folders = wanted.filter(({ stat }) => stat?.isDirectory())
  return folders.reduce((sum, { name }) => sum + linkFiles(from, to, name), files.length)
}

/** Returns false if the file no longer exists. */
function linkFile(from: string, to: string): boolean {
  try {
    fs.linkSync(fs.realpathSync(from), to)
  } catch (error) {
    if (isMissing(error)) return false
    fs.copyFileSync(from, to)
  }
  return true
}

export const addRestore: AddCommand = (program, context) => {
  program
    .command('restore <file>')
    .description(
      'restore an archive of `trivium backup` into an empty data directory or Redis that no daemon uses',
    )
    .option('--force', 'if it is not empty, move its content to a folder before-restore-… in it')
    .action(async (given: string, { force }: { force?: true }) => {
      const file = resolve(context.environs().cwd, given)
      const { daemon } = await loadPlaced(context.environs())
      const dir = daemon.dataDir
      using _lock = await lockAlone(dir, context.environs())
      const done = await restore(file, daemon, force === true, context)
      const { files, at, aside } = done
      const kept = aside ? `; the previous content is in ${aside}` : ''
      show(context.terminal(), done, () => `${dir}: ${counted(files, 'file')}, as of ${at}${kept}`)
    })
}

async function restore(file: string, daemon: Daemon, force: boolean, context: CommandContext) {
  const { dataDir: dir } = daemon
  const old = fs.readdirSync(dir).filter((name) => !isOfThisMachine(name))
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
    // After a failure, some files may still be being written.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** Restores the copies of Redis, or checks that the database opens here: that of a newer Trivium does not. */
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
    const [was, is] = copy
      ? ['Redis', 'none: set REDIS_URL']
      : ['the embedded store', 'Redis: unset REDIS_URL']
    throw new TriviumError('backup_refused', {
      what: 'Restoring',
      reason: `the archive is of ${was}, and the store here is ${is}`,
    })
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
 * Accepts only files, no symbolic links, and nothing that `trivium backup` excludes: an archive
 * must not contain a control token.
 */
function isWanted(path: string, entry: fs.Stats | ReadEntry): boolean {
  const isFile = 'type' in entry && (entry.type === 'File' || entry.type === 'Link')
  return isFile && !pathsOf(relative(DATA, normalize(path))).some(isLeftOut)
}

/** A path and the folders in which it is: `a/b/c`, `a/b`, `a`. */
function pathsOf(name: string): string[] {
  const parts = name.split(sep)
  return parts.map((_, index) => parts.slice(0, index + 1).join(sep))
}

function isLeftOut(name: string): boolean {
  return isOfThisMachine(name) || (NONE_OF_IT.includes(name) && name !== 'trivium.db')
}

export const addCompact: AddCommand = (program, context) => {
  program
    .command('compact')
    .description('return free space of trivium.db to the disk; stop the daemon first')
    .action(async () => {
      const { dataDir, redisUrl } = (await loadPlaced(context.environs())).daemon
      if (redisUrl !== undefined) {
        const reason = 'the store is in Redis, which frees space itself'
        throw new TriviumError('backup_refused', { what: 'This command', reason })
      }
      using _lock = await lockAlone(dataDir, context.environs())
      const done = compactDatabase(dataDir)
      const { before, after } = done
      show(context.terminal(), done, () => `${megabytes(before)} before, ${megabytes(after)} now`)
    })
}

/** Files of a daemon on this machine, or left behind by earlier commands. */
function isOfThisMachine(name: string): boolean {
  const named = ['daemon.json', 'control-token', 'routes.schema.json', 'trivium.lock.json']
  return named.includes(name) || /^before-restore-|\.(tmp|lock|lock-journal)$/.test(name)
}

/** Shows the progress until it is disposed. */
function progressOf(context: CommandContext) {
  const { progress } = context.terminal()
  let done = 0
  return {
    show: progress,
    add({ length }: { length: number }) {
      done += length
      progress(megabytes(done))
    },
    [Symbol.dispose]: () => progress(''),
  }
}
