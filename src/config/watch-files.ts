import { type Stats, unwatchFile, watchFile } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createLoop } from '../lib/loop.ts'
import { pause } from '../lib/pause.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { filesOf } from './include-pattern.ts'
import { readFiles } from './read-files.ts'

/**
 * Polling interval of a file, in ms. Polling also notices changes that file events miss: mounts,
 * links, ConfigMaps.
 */
const INTERVAL = 250

/**
 * How long (ms) a file must stay unchanged before it is read: longer than the interval, to see a
 * further change.
 */
const QUIET = 300

/**
 * Calls `changed` once one of the files, which may be missing, has changed and then stayed the same
 * for `quiet` ms. Returns a function that stops watching.
 */
export function watchFiles(files: readonly string[], changed: () => void, quiet = QUIET): () => void {
  let timer: NodeJS.Timeout | undefined
  const onStats = (now: Stats, before: Stats) => {
    // Reading a file also triggers this listener, as it changes the access time.
    if (now.mtimeMs === before.mtimeMs && now.ino === before.ino) return
    clearTimeout(timer)
    timer = setTimeout(changed, quiet)
  }
  for (const file of files) watchFile(file, { interval: INTERVAL }, onStats)
  return () => {
    clearTimeout(timer)
    for (const file of files) unwatchFile(file, onStats)
  }
}

/** Polling interval for new and removed files of globs, in ms. */
const GLOB_INTERVAL = 500

/**
 * Calls `changed` after a change of routes.yaml (`file`), `.env`, an included file, or the set of
 * files that the globs of `include` match. Resolves once it is watching, with a function that stops
 * it.
 */
export async function watchConfiguration(
  { file, cwd, env }: { file: string; cwd: string; env: Environment },
  changed: () => void,
): Promise<() => void> {
  let watched: { files: readonly string[]; found: readonly string[][] } = { files: [], found: [] }
  let globs: readonly string[] = []
  let unwatch = () => {}
  const stopped = new AbortController()

  /** The files that each glob matches. */
  const expand = () => Promise.all(globs.map((glob) => filesOf(glob).catch(() => [])))
  /** Watches the files that the configuration now names, even if one of them is broken. */
  const refresh = async () => {
    const read = await readFiles(file, cwd, await readEnvironment(cwd, env).catch(() => env))
    globs = read.globs
    const next = { files: [...new Set([file, join(cwd, '.env'), ...read.files])], found: await expand() }
    if (stopped.signal.aborted || isDeepStrictEqual(next, watched)) return
    unwatch()
    watched = next
    unwatch = watchFiles(next.files, onChange)
  }
  const onChange = () => void refresh().then(changed, changed)
  const checkGlobs = async () => {
    if (isDeepStrictEqual(await expand(), watched.found)) return
    // New files may be incomplete.
    await pause(QUIET, stopped.signal)
    await refresh()
    if (!stopped.signal.aborted) changed()
  }

  await refresh()
  const checks = createLoop({ step: () => checkGlobs().then(() => GLOB_INTERVAL), failed: () => undefined })
  checks.start()
  return () => {
    stopped.abort()
    void checks.stop()
    unwatch()
  }
}
