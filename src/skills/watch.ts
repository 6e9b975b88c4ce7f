import { relative, sep } from 'node:path'
import type { Log } from '../core/log.ts'

/** Within a skills folder: the folder itself may well be `.agents/skills`, or a package's. */
const HIDDEN = /(^|[/\\])(\.|node_modules)/

/**
 * Watches skills folders and calls `changed` with the name of the skill that a change belongs to, or
 * with undefined where it may concern all of them (a middleware, `skills.json`). Changes of the same
 * skill within 50 ms count once. Resolves when it watches; the function it returns ends it.
 */
export async function watchSkills(
  folders: readonly string[],
  changed: (name: string | undefined) => Promise<void>,
  log: Log,
): Promise<() => Promise<void>> {
  const { watch: watchFiles } = await import('chokidar')
  /** The path within the nearest of the folders. */
  const within = (path: string) => {
    const inside = folders.map((folder) => relative(folder, path)).filter((one) => !one.startsWith('..'))
    return inside.sort((a, b) => a.length - b.length)[0] ?? ''
  }
  const pending = new Map<string | undefined, NodeJS.Timeout>()
  const watcher = watchFiles([...folders], {
    ignoreInitial: true,
    ignored: (path) => HIDDEN.test(within(path)),
  })

  watcher.on('all', (_event, path) => {
    const [name = ''] = within(path).split(sep)
    const scope = ['', 'middleware', 'skills.json'].includes(name) ? undefined : name
    clearTimeout(pending.get(scope))
    const run = () => {
      pending.delete(scope)
      changed(scope).catch((error: unknown) => log.error({ err: error, skill: scope }, 'reload failed'))
    }
    pending.set(scope, setTimeout(run, 50))
  })
  watcher.on('error', (error) => log.warn({ err: error }, 'watching skills failed'))
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()))

  return async () => {
    for (const timer of pending.values()) clearTimeout(timer)
    await watcher.close()
  }
}
