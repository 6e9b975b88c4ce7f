import { readdir, rm, stat } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The folder of Node's compile cache, in the folder for temporary files. bin/trivium.js has the
 * same name.
 */
export const COMPILE_CACHE = 'trivium-compile-cache'
/** Maximum number of entries, each about 6 KB. Trivium itself needs less than half of it. */
const MAX_ENTRIES = 5_000
/** The share of `MAX_ENTRIES` that a trim keeps, so that the next starts need not trim again. */
const SHARE_AFTER_TRIM = 0.8
/** The folder of another version of Node is removed if nothing was added for this long (ms). */
const MAX_AGE = 30 * 24 * 60 * 60 * 1_000
/** Number of files that are checked before other work gets a turn. */
const BATCH = 500

/**
 * Removes the least recently used entries of Node's compile cache. Node never removes any, and each
 * reloaded file adds one, as its address is new. `cache` is the folder above
 * `module.getCompileCacheDir()`. A folder that Trivium did not choose stays unchanged. Several
 * processes may do this at the same time.
 */
export async function trimCompileCache(cache: string, maxEntries = MAX_ENTRIES): Promise<void> {
  if (basename(cache) !== COMPILE_CACHE) return
  const used = getCompileCacheDir()
  // There is a folder for each version of Node and set of its flags.
  for (const name of await namesIn(cache)) {
    const dir = join(cache, name)
    if (dir !== used && (await lastUse(dir)) < Date.now() - MAX_AGE)
      await rm(dir, { recursive: true, force: true })
    else await trimFolder(dir, maxEntries)
  }
}

async function trimFolder(dir: string, maxEntries: number): Promise<void> {
  const names = await namesIn(dir)
  if (names.length <= maxEntries) return
  const entries: { path: string; at: number }[] = []
  for (let from = 0; from < names.length; from += BATCH) {
    const paths = names.slice(from, from + BATCH).map((name) => join(dir, name))
    entries.push(...(await Promise.all(paths.map(async (path) => ({ path, at: await lastUse(path) })))))
    await nextTurn()
  }
  entries.sort((a, b) => b.at - a.at)
  for (const { path } of entries.slice(maxEntries * SHARE_AFTER_TRIM)) await rm(path, { force: true })
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => [])
}

/** When a file was last written or read (Unix ms). Most file systems note a read once a day. */
async function lastUse(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found ? Math.max(found.mtimeMs, found.atimeMs) : 0
}
