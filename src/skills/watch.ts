import { relative } from 'node:path'
import type { Log } from '../core/log.ts'

/** Within a skills folder: the folder itself may well be `.agents/skills`, or a package's. */
const HIDDEN = /(^|[/\\])(\.|node_modules)/

/**
 * Watches skills folders and calls `changed` after a change; changes within 50 ms of each other count once.
 * Resolves when it watches; the function it returns ends it.
 */
export async function watchSkills(
  folders: readonly string[],
  changed: () => Promise<void>,
  log: Log,
): Promise<() => Promise<void>> {
  const { watch: watchFiles } = await import('chokidar')
  /** The path within the nearest of the folders. */
  const within = (path: string) => {
    const inside = folders.map((folder) => relative(folder, path)).filter((one) => !one.startsWith('..'))
    return inside.sort((a, b) => a.length - b.length)[0] ?? ''
  }
  let pending: NodeJS.Timeout | undefined
  const watcher = watchFiles([...folders], {
    ignoreInitial: true,
    ignored: (path) => HIDDEN.test(within(path)),
  })

  const run = () => changed().catch((err: unknown) => log.error({ err }, 'reload failed'))
  watcher.on('all', () => {
    clearTimeout(pending)
    pending = setTimeout(run, 50)
  })
  watcher.on('error', (error) => log.warn({ err: error }, 'watching skills failed'))
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))

  return async () => {
    clearTimeout(pending)
    await watcher.close()
  }
}
