import { readdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileFailure, TriviumError, unwritable } from '../../core/errors.ts'
import { disk, syncDir } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { compactDatabase, copyDatabase, STORE_FILES } from '../../stores/embedded/copy.ts'
import { openDatabase } from '../../stores/embedded/database.ts'
import { lockDirectory } from '../../stores/embedded/lock.ts'
import { linkFiles, readArchive, writeArchive } from '../archive.ts'
import { type AddCommand, type CommandContext, loadFor } from '../command.ts'
import { megabytes, show } from '../terminal.ts'

/** `trivium backup`. */
export const addBackup: AddCommand = (program, context) => {
  program
    .command('backup <file>')
    .description('copy the store and the files of the data dir into one archive, also while the daemon runs')
    .action(async (given: string) => {
      const file = resolve(context.environs().cwd, given)
      const dir = await embeddedDir(context, 'with `redis-cli --rdb` and a copy of the data dir')
      const lock = join(dir, 'backup.lock')
      // A second one would put its copy in the place of the first.
      const done = await createFileLock(lock, fileFailure(lock)).during(() => backUp(dir, file, context))
      const { files, bytes, at } = done
      show(context.terminal(), done, () => `${file}: ${files} files, ${megabytes(bytes)}, as of ${at}`)
    })
}

async function backUp(dir: string, file: string, context: CommandContext) {
  const folder = join(dir, 'backup.tmp')
  const data = join(folder, 'data')
  const copy = join(data, 'trivium.db')
  using progress = progressOf(context)
  try {
    // Left by one that was killed.
    rmSync(folder, { recursive: true, force: true })
    disk.makeDir(data)
    disk.close(disk.open(copy, 'w'))
    const at = new Date().toISOString()
    await copyDatabase(dir, copy, (part) => progress.show(`database: ${Math.round(part * 100)} %`))
    // Behind the database, so that each file that a message in it names is there.
    const files = 1 + linkFiles(dir, data, isNoneOfIt)
    await writeArchive(file, folder, { at, files }, progress.add)
    return { file, at, files, bytes: statSync(file).size }
  } catch (error) {
    throw unwritable(file, error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `trivium restore`. */
export const addRestore: AddCommand = (program, context) => {
  program
    .command('restore <file>')
    .description('put what `trivium backup` copied into a data dir that is empty and that no daemon uses')
    .option('--force', 'where it is not empty, put what is there into a folder before-restore-… in it')
    .action(async (given: string, { force }: { force?: true }) => {
      const file = resolve(context.environs().cwd, given)
      const dir = await embeddedDir(context, 'with an RDB file that Redis starts from, and the data dir')
      const unlock = lockDirectory(dir)
      try {
        const done = await restore(file, dir, force === true, context)
        const { files, at, aside } = done
        const kept = aside ? `; what was there is in ${aside}` : ''
        show(context.terminal(), done, () => `${dir}: ${files} files, as of ${at}${kept}`)
      } finally {
        unlock()
      }
    })
}

async function restore(file: string, dir: string, force: boolean, context: CommandContext) {
  const old = readdirSync(dir).filter((name) => !isOfThisMachine(name))
  if (old.length > 0 && !force) {
    const reason = `${old[0]} is there. With --force what is there is put into a folder of its own`
    throw new TriviumError('backup_refused', { what: `Restoring into ${dir}`, reason })
  }
  const folder = join(dir, 'restore.tmp')
  using progress = progressOf(context)
  try {
    rmSync(folder, { recursive: true, force: true })
    const { data, files, at } = await readArchive(file, folder, progress.add)
    // It must open here: one of a newer Trivium does not.
    openDatabase(data).close()
    const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '')
    const aside = old.length > 0 ? join(dir, `before-restore-${stamp}`) : undefined
    if (aside) {
      disk.makeDir(aside)
      for (const name of old) disk.rename(join(dir, name), join(aside, name))
    }
    for (const name of readdirSync(data)) disk.rename(join(data, name), join(dir, name))
    await syncDir(dir)
    return { dir, at, files, aside }
  } catch (error) {
    throw unwritable(dir, error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `trivium compact`. */
export const addCompact: AddCommand = (program, context) => {
  program
    .command('compact')
    .description('give the space that trimming left free in trivium.db back to the disk; no daemon may run')
    .action(async () => {
      const done = compactDatabase(await embeddedDir(context, 'by Redis itself'))
      const { before, after } = done
      show(context.terminal(), done, () => `${megabytes(before)} before, ${megabytes(after)} now`)
    })
}

/** The data dir where it holds the store too. `how`: what is done instead where Redis does. */
async function embeddedDir(context: CommandContext, how: string): Promise<string> {
  const { dataDir, redisUrl } = (await loadFor(context.environs())).daemon
  if (redisUrl === undefined) return dataDir
  const reason = `the store is in Redis; it is done ${how}, see docs/operating.md`
  throw new TriviumError('backup_refused', { what: 'This command', reason })
}

/** What belongs to a daemon that runs, or ran, on this machine, and what earlier commands left. */
function isOfThisMachine(name: string): boolean {
  const named = ['daemon.json', 'control-token', 'routes.schema.json', 'trivium.lock.json']
  return named.includes(name) || /^before-restore-|\.(tmp|lock|lock-journal)$/.test(name)
}

function isNoneOfIt(name: string): boolean {
  return isOfThisMachine(name) || [...STORE_FILES, 'artifacts/incoming'].includes(name)
}

/** Shows how much is done and how fast, a few times a second, until it is disposed of. */
function progressOf(context: CommandContext) {
  const terminal = context.terminal()
  const began = performance.now()
  let done = 0
  let shownAt = 0
  const show = (text: string) => {
    if (performance.now() - shownAt < 200) return
    shownAt = performance.now()
    terminal.progress(text)
  }
  return {
    show,
    add(bytes: number) {
      done += bytes
      show(`${megabytes(done)}, ${megabytes((done / (performance.now() - began)) * 1000)}/s`)
    },
    [Symbol.dispose]: () => terminal.progress(''),
  }
}
