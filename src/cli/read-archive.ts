import * as fs from 'node:fs'
import { chmod, open, readdir, readFile } from 'node:fs/promises'
import { join, normalize, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type ReadEntry } from 'tar'
import { fileReason, TriviumError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { disk } from '../lib/disk.ts'
import { DATA, EXCLUDED, FORMAT, isLocal, MANIFEST, manifestSchema, STDIO } from './backup-archive.ts'

/**
 * Unpacks an archive and flushes each file. Throws `backup_unreadable` for an incomplete one, and
 * `store_version`. The path `-` is stdin.
 */
export async function readArchive(path: string, dir: string, progress: (piece: { length: number }) => void) {
  const data = join(dir, DATA)
  disk.makeDir(data)
  try {
    await pipeline(
      (path === STDIO ? process.stdin : fs.createReadStream(path)).on('data', progress),
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
    throw new TriviumError('backup_unreadable', { path, reason: fileReason(error) }, { cause: error })
  }
}

/**
 * Accepts only files, no symbolic links, and nothing that `trivium backup` excludes: a control
 * token in an archive must not be restored.
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
