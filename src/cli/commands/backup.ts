import * as fs from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { create } from 'tar'
import { fileFailure, unwritable } from '../../core/errors.ts'
import { silent } from '../../core/log.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { disk, isMissing, temporaryName } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { isOpenLog } from '../../lib/line-file.ts'
import { megabytes } from '../../lib/short-text.ts'
import { copyDatabase } from '../../stores/embedded/copy.ts'
import {
  archivePath,
  DATA,
  type Daemon,
  EXCLUDED,
  FORMAT,
  isLocal,
  MANIFEST,
  progressOf,
  STDIO,
} from '../backup-archive.ts'
import { type AddCommand, type CommandContext, usage } from '../command.ts'
import { loadForCopy } from '../data-dir.ts'
import { show } from '../terminal.ts'

export const addBackup: AddCommand = (program, context) => {
  program
    .command('backup')
    .argument('<file>', 'the new archive; - is stdout')
    .description('copy the store and the data directory into one archive, even while the daemon runs')
    .action(async (given: string) => {
      const terminal = context.terminal()
      const file = archivePath(given, context.environs().cwd)
      if (file === STDIO && terminal.isTerminal)
        throw usage('an archive is not text: redirect stdout to a file, or name one')
      const { daemon } = await loadForCopy(context.environs(), context.terminal().err)
      const dir = daemon.dataDir
      disk.makeDir(dir)
      const lock = join(dir, 'backup.lock')
      // A concurrent backup would overwrite this copy.
      const result = await createFileLock(lock, fileFailure(lock)).during(() => backUp(daemon, file, context))
      const { files, bytes, at } = result
      const details = `${counted(files, 'file')}, ${megabytes(bytes)}, as of ${at}`
      if (file === STDIO) terminal.err(`${details}\n`)
      else show(terminal, result, () => `${file}: ${details}`)
    })
}

async function backUp(daemon: Daemon, file: string, context: CommandContext) {
  const { dataDir: dir } = daemon
  const folder = join(dir, 'backup.tmp')
  const data = join(folder, DATA)
  using progress = progressOf(context)
  try {
    // Left behind by a backup that was killed.
    fs.rmSync(folder, { recursive: true, force: true })
    disk.makeDir(data)
    const at = new Date().toISOString()
    const redis = await copyStore(daemon, data, progress)
    // Linked after the store was copied, so that all files of its messages are included.
    const files = (redis?.files.length ?? 1) + linkFiles(dir, data)
    fs.writeFileSync(
      join(folder, MANIFEST),
      JSON.stringify({ format: FORMAT, at, files, ...defined({ redis }) }),
    )
    const bytes = await writeArchive(folder, file, progress.add)
    return { file, at, files, bytes }
  } catch (error) {
    throw unwritable(file === STDIO ? 'stdout' : file, error)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** Packs a folder into an archive. Returns its size. A failure changes no existing file. */
async function writeArchive(folder: string, file: string, progress: (part: Buffer) => void): Promise<number> {
  let bytes = 0
  // Level 1: a much faster backup is worth a slightly larger archive.
  const zip = createGzip({ level: 1 }).on('data', (part) => {
    bytes += part.length
    progress(part)
  })
  const archive = () => create({ cwd: folder, portable: true }, [DATA, MANIFEST])
  if (file === STDIO) {
    await pipeline(archive(), zip, process.stdout, { end: false })
    return bytes
  }
  const temporary = temporaryName(file)
  try {
    const out = fs.createWriteStream(temporary, { fd: disk.open(temporary, 'w'), flush: true })
    await pipeline(archive(), zip, out)
    disk.rename(temporary, file)
    return bytes
  } finally {
    disk.remove(temporary)
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
 * Hard-links the files of a folder (or copies them) into `to`, so that they stay unchanged. Returns
 * their number.
 */
function linkFiles(from: string, to: string, below = ''): number {
  disk.makeDir(join(to, below))
  const entries = fs.readdirSync(join(from, below)).map((entry) => {
    const name = join(below, entry)
    // Follows links, because a large folder may be on another disk.
    return { name, stat: fs.statSync(join(from, name), { throwIfNoEntry: false }) }
  })
  const included = entries.filter(({ name }) => !isLocal(name) && !EXCLUDED.includes(name))
  let count = 0
  // Files before folders: the logs are files, and a full log is soon renamed.
  for (const { name, stat } of included)
    if (stat?.isFile() && linkFile(join(from, name), join(to, name))) count++
  for (const { name, stat } of included) if (stat?.isDirectory()) count += linkFiles(from, to, name)
  return count
}

/** Returns false if the file no longer exists. */
function linkFile(from: string, to: string): boolean {
  try {
    // A linked log would grow while it is packed, which ends the archive with an error.
    if (isOpenLog(from)) copyFile(from, to)
    else fs.linkSync(fs.realpathSync(from), to)
  } catch (error) {
    if (isMissing(error)) return false
    // Links cannot cross disks.
    copyFile(from, to)
  }
  return true
}

const copyFile = (from: string, to: string) => fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE)
