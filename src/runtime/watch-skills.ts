import { existsSync, unwatchFile, watchFile } from 'node:fs'
import { relative } from 'node:path'
import type { Log } from '../core/log.ts'

/** Ignored paths, relative to a skills folder: its own path may contain `.agents`. */
const HIDDEN = /(^|[/\\])(\.|node_modules)/

/** A reload begins when nothing has changed for this time (ms). */
const SETTLE_MS = 50

/** Polling interval (ms) for a missing folder. */
const FOLDER_POLL_MS = 1_000

/**
 * Calls `changed` after changes of files whose paths match `pattern` (default: all files), once for
 * several quick changes, with the paths of these files in their folder. Resolves with a function
 * that stops watching.
 */
export async function watchSkills(
  folders: readonly string[],
  changed: (files: readonly string[]) => Promise<void>,
  log: Log,
  pattern = /^/,
): Promise<() => Promise<void>> {
  const { watch: watchFiles } = await import('chokidar')
  /** The path relative to the nearest of the folders. */
  const relativePath = (path: string) => {
    const inside = folders.map((folder) => relative(folder, path)).filter((one) => !one.startsWith('..'))
    return inside.sort((a, b) => a.length - b.length)[0] ?? ''
  }
  let pending: NodeJS.Timeout | undefined
  let files = new Set<string>()
  const run = () => {
    const saved = [...files]
    files = new Set()
    changed(saved).catch((err: unknown) => log.error({ err }, 'reload failed'))
  }
  const scheduleRun = () => {
    clearTimeout(pending)
    pending = setTimeout(run, SETTLE_MS)
  }

  const present = folders.filter((folder) => existsSync(folder))
  const watcher = watchFiles(present, {
    ignoreInitial: true,
    ignored: (path) => HIDDEN.test(relativePath(path)),
  })
  watcher.on('all', (event, path) => {
    if (!pattern.test(path)) return
    if (!event.endsWith('Dir')) files.add(relativePath(path))
    scheduleRun()
  })
  watcher.on('error', (error) => log.warn({ err: error }, 'watching skills failed'))
  const stopPolling = whenTheyExist(
    folders.filter((folder) => !present.includes(folder)),
    (folder) => {
      watcher.add(folder)
      scheduleRun()
    },
  )
  // Without a path to watch, chokidar never emits `ready`.
  if (present.length > 0) await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))

  return async () => {
    clearTimeout(pending)
    stopPolling()
    await watcher.close()
  }
}

/**
 * Calls `found` for each folder once it exists. Polls, because chokidar would watch the parent of a
 * missing folder. If that is the data directory, every commit of the store would make it list that
 * directory.
 */
function whenTheyExist(folders: readonly string[], found: (folder: string) => void): () => void {
  const missing = new Set(folders)
  for (const folder of folders) {
    watchFile(folder, { interval: FOLDER_POLL_MS, persistent: false }, () => {
      if (!existsSync(folder)) return
      unwatchFile(folder)
      missing.delete(folder)
      found(folder)
    })
  }
  return () => {
    for (const folder of missing) unwatchFile(folder)
  }
}
