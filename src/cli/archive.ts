import * as fs from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { create, extract, type ReadEntry } from 'tar'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { disk, isMissing, temporaryName } from '../lib/disk.ts'

/** What this Trivium writes and the newest that it reads. */
const FORMAT = 1

const manifestSchema = z.object({
  format: z.int(),
  /** The moment (ISO) that the database shows. */
  at: z.string(),
  /** How many files there are below `data/`. */
  files: z.int(),
})

/** The archive's last entry: without it, what was read is not the whole. */
const MANIFEST = 'manifest.json'
const DATA = 'data'

/**
 * Writes the folder `data` of a folder into a gzipped tar that only its owner reads, under a temporary name until it is whole and
 * on the disk. `progress` gets the bytes of each piece.
 */
export async function writeArchive(
  path: string,
  dir: string,
  { at, files }: { at: string; files: number },
  progress: (bytes: number) => void,
): Promise<void> {
  fs.writeFileSync(join(dir, MANIFEST), JSON.stringify({ format: FORMAT, at, files }))
  const temporary = temporaryName(path)
  try {
    const out = fs.createWriteStream(temporary, { fd: disk.open(temporary, 'w'), flush: true })
    // A copy that takes half as long is worth more than a tenth of its size.
    const zip = createGzip({ level: 1 }).on('data', (piece) => progress(piece.length))
    await pipeline(create({ cwd: dir, portable: true }, [DATA, MANIFEST]), zip, out)
    disk.rename(temporary, path)
  } finally {
    disk.remove(temporary)
  }
}

/**
 * Gives the files of a folder, and of those in it, a second name below `to`, and returns how many: what is replaced or removed
 * meanwhile stays as it was. Copies them where they are on another disk.
 */
export function linkFiles(
  from: string,
  to: string,
  isLeftOut: (name: string) => boolean,
  below = '',
): number {
  disk.makeDir(join(to, below))
  const found = fs.readdirSync(join(from, below)).map((entry) => {
    const name = join(below, entry)
    // Follows links: a large folder may lie on another disk.
    return { name, stat: fs.statSync(join(from, name), { throwIfNoEntry: false }) }
  })
  const wanted = found.filter(({ name }) => !isLeftOut(name))
  // First of all, for a full log soon gets another name.
  const files = wanted.filter(
    ({ name, stat }) => stat?.isFile() && linkFile(join(from, name), join(to, name)),
  )
  const folders = wanted.filter(({ stat }) => stat?.isDirectory())
  return folders.reduce((sum, { name }) => sum + linkFiles(from, to, isLeftOut, name), files.length)
}

/** False where it is gone. */
function linkFile(from: string, to: string): boolean {
  try {
    fs.linkSync(fs.realpathSync(from), to)
  } catch (error) {
    if (isMissing(error)) return false
    fs.copyFileSync(from, to)
  }
  return true
}

/**
 * Unpacks an archive into a new folder, and flushes each file. Returns its manifest and the folder with the files. Throws
 * `backup_unreadable` for one that is not whole (gzip ends with a checksum), and `store_version` for one of a newer Trivium.
 */
export async function readArchive(path: string, dir: string, progress: (bytes: number) => void) {
  const data = join(dir, DATA)
  disk.makeDir(data)
  try {
    const source = fs.createReadStream(path).on('data', (piece) => progress(piece.length))
    await pipeline(source, extract({ cwd: dir, strict: true, filter: isFile }))
    const found = manifestSchema.safeParse(parseJson(await readFile(join(dir, MANIFEST), 'utf8')))
    if (!found.success) throw new Error(`its ${MANIFEST} is not one of Trivium`)
    const { format } = found.data
    if (format > FORMAT) throw new TriviumError('store_version', { path, found: format, known: FORMAT })
    let files = 0
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      await using handle = await open(join(entry.parentPath, entry.name), 'r+')
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

/** No links to elsewhere. */
function isFile(_path: string, entry: fs.Stats | ReadEntry): boolean {
  return 'type' in entry && (entry.type === 'File' || entry.type === 'Link')
}
