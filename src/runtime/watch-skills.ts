import { existsSync, unwatchFile, watchFile } from 'node:fs'
import { relative } from 'node:path'
import type { Log } from '../core/log.ts'

/** Relative to a skills folder, whose own path may contain `.agents` or `node_modules`. */
const HIDDEN = /(^|[/\\])(\.|node_modules)/

/** Several changes within this many ms cause one reload. */
const SETTLE_MS = 50

/** Polling interval (ms) for a missing folder. */
const LOOK_FOR_FOLDER_MS = 1_000

/**
 * Calls `changed` after a change to a file whose path matches `kind`, once for all changes within 50 ms. Resolves when it
 * watches, to a function that stops watching.
 */
export async function watchSkills(
  folders: readonly string[],
  changed: () => Promise<void>,
  log: Log,
  kind = /^/,
): Promise<() => Promise<void>> {
  const { watch: watchFiles } = await import('chokidar')
  /** The path relative to the nearest of the folders. */
  const within = (path: string) => {
    const inside = folders.map((folder) => relative(folder, path)).filter((one) => !one.startsWith('..'))
    return inside.sort((a, b) => a.length - b.length)[0] ?? ''
  }
  let pending: NodeJS.Timeout | undefined
  const run = () => changed().catch((err: unknown) => log.error({ err }, 'reload failed'))
  const changeSeen = () => {
    clearTimeout(pending)
    pending = setTimeout(run, SETTLE_MS)
  }

  const present = folders.filter((folder) => existsSync(folder))
  const watcher = watchFiles(present, {
    ignoreInitial: true,
    ignored: (path) => HIDDEN.test(within(path)),
  })
  watcher.on('all', (_, path) => {
    if (kind.test(path)) changeSeen()
  })
  watcher.on('error', (error) => log.warn({ err: error }, 'watching skills failed'))
  const stopLooking = onceTheyExist(
    folders.filter((folder) => !present.includes(folder)),
    (folder) => {
      watcher.add(folder)
      changeSeen()
    },
  )
  // Without a path to watch, chokidar never emits `ready`.
  if (present.length > 0) await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))

  return async () => {
    clearTimeout(pending)
    stopLooking()
    await watcher.close()
  }
}

/**
 * Calls `found` for each folder once it exists. Polls, because chokidar would watch the parent of a
 * missing folder. If that is the data directory, every commit of the store would make it list that
 * directory.
 */
function onceTheyExist(folders: readonly string[], found: (folder: string) => void): () => void {
  const missing = new Set(folders)
  for (const folder of folders) {
    watchFile(folder, { interval: LOOK_FOR_FOLDER_MS, persistent: false }, () => {
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
