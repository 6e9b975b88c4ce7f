import { type Stats, unwatchFile, watchFile } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createLoop } from '../lib/loop.ts'
import { pause } from '../lib/pause.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { filesOf } from './include-pattern.ts'
import { readFiles } from './read-files.ts'

/** Ms between two looks at a file. Asking for its times also sees what notifications miss: mounts, links, ConfigMaps. */
const INTERVAL = 100

/** Ms for which a file must rest before it is read. */
const QUIET = 2 * INTERVAL

/** Calls `changed` once one of the files, which need not be there, has changed and rested for `quiet` ms. Returns what ends that. */
export function watchFiles(files: readonly string[], changed: () => void, quiet = QUIET): () => void {
  let timer: NodeJS.Timeout | undefined
  const look = (now: Stats, before: Stats) => {
    // Whoever only reads a file changes its times too.
    if (now.mtimeMs === before.mtimeMs && now.ino === before.ino) return
    clearTimeout(timer)
    timer = setTimeout(changed, quiet)
  }
  for (const file of files) watchFile(file, { interval: INTERVAL }, look)
  return () => {
    clearTimeout(timer)
    for (const file of files) unwatchFile(file, look)
  }
}

/** Ms between two looks for files that are new in a folder, or gone. */
const GLOB_INTERVAL = 500

/**
 * Calls `changed` once routes.yaml (`file`), `.env` or an included file has changed, and where a pattern of `include` fits other files than
 * before. Resolves, once it watches, with what ends that.
 */
export async function watchConfiguration(
  { file, cwd, env }: { file: string; cwd: string; env: Environment },
  changed: () => void,
): Promise<() => void> {
  let watched: { files: readonly string[]; found: readonly string[][] } = { files: [], found: [] }
  let globs: readonly string[] = []
  let unwatch = () => {}
  const over = new AbortController()

  const expand = () => Promise.all(globs.map((glob) => filesOf(glob).catch(() => [])))
  /** Watches what the files name now; that of a broken one as far as it can be read. */
  const refresh = async () => {
    const read = await readFiles(file, cwd, await readEnvironment(cwd, env).catch(() => env))
    globs = read.globs
    const next = { files: [...new Set([file, join(cwd, '.env'), ...read.files])], found: await expand() }
    if (over.signal.aborted || isDeepStrictEqual(next, watched)) return
    unwatch()
    watched = next
    unwatch = watchFiles(next.files, onChange)
  }
  const onChange = () => void refresh().then(changed, changed)
  const look = async () => {
    if (isDeepStrictEqual(await expand(), watched.found)) return
    // What is new may not be whole yet.
    await pause(QUIET, over.signal)
    await refresh()
    if (!over.signal.aborted) changed()
  }

  await refresh()
  const looks = createLoop({ step: () => look().then(() => GLOB_INTERVAL), failed: () => undefined })
  looks.start()
  return () => {
    over.abort()
    void looks.stop()
    unwatch()
  }
}
