import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Log } from '../core/log.ts'

/** A skill's folder: which file to load it from, and in which skills folder it was found. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
}

/** What makes a folder a skill; the first that is there counts. */
const FILES = { 'index.ts': 'code', 'index.js': 'code', 'index.mjs': 'code', 'SKILL.md': 'markdown' } as const
const MODULE = /\.(ts|js|mjs)$/

/** Skills by folder: code before markdown, and of a name that is in several folders the first. */
export async function discoverSkills(folders: readonly string[]): Promise<FoundSkill[]> {
  const found: FoundSkill[] = []
  for (const { folder, name } of await entriesOfAll(folders)) {
    const files = await entriesOf(join(folder, name))
    const [file, kind] = Object.entries(FILES).find(([one]) => files.includes(one)) ?? []
    if (file && kind) found.push({ name, kind, path: join(folder, name, file) })
  }
  return found
}

/** The modules in `<folder>/middleware/`, with the name each file gives its middleware. */
export async function discoverMiddleware(
  folders: readonly string[],
): Promise<{ name: string; path: string }[]> {
  const found = await entriesOfAll(folders.map((folder) => join(folder, 'middleware')))
  return found
    .filter(({ name }) => MODULE.test(name))
    .map(({ folder, name }) => ({ name: name.replace(MODULE, ''), path: join(folder, name) }))
}

async function entriesOfAll(folders: readonly string[]): Promise<{ folder: string; name: string }[]> {
  const found = folders.map(async (folder) => (await entriesOf(folder)).map((name) => ({ folder, name })))
  return (await Promise.all(found)).flat()
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}

/** Within a skills folder: the folder itself may well be `.agents/skills`, or a package's. */
const HIDDEN = /(^|[/\\])(\.|node_modules)/

/** Calls `changed` after a change (once for those within 50 ms). Resolves when it watches, to what ends it. */
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
