import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** A skill's folder: which file to load it from, and in which skills folder it was found. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
}

/** What makes a folder a skill; the first that is there counts. */
const FILES = { 'index.ts': 'code', 'index.js': 'code', 'index.mjs': 'code', 'SKILL.md': 'markdown' } as const
const MODULE = /\.(ts|js|mjs)$/

/**
 * Looks for `<folder>/<name>/index.ts` (or built JavaScript) and `<folder>/<name>/SKILL.md`; code wins where there are both.
 * In the order of the folders: of a name that is in several the first is meant. A folder that is not there holds nothing.
 */
export async function discoverSkills(folders: readonly string[]): Promise<FoundSkill[]> {
  const found = folders.map(async (folder) => {
    return Promise.all((await entriesOf(folder)).map((name) => findSkill(folder, name)))
  })
  return (await Promise.all(found)).flat().filter((skill) => skill !== undefined)
}

async function findSkill(folder: string, name: string): Promise<FoundSkill | undefined> {
  const files = await entriesOf(join(folder, name))
  const [file, kind] = Object.entries(FILES).find(([one]) => files.includes(one)) ?? []
  return file && kind ? { name, kind, path: join(folder, name, file) } : undefined
}

/** The modules in `<folder>/middleware/`, with the name each file gives its middleware. */
export async function discoverMiddleware(
  folders: readonly string[],
): Promise<{ name: string; path: string }[]> {
  const found = folders.map(async (folder) => {
    const files = await entriesOf(join(folder, 'middleware'))
    return files
      .filter((file) => MODULE.test(file))
      .map((file) => ({ name: file.replace(MODULE, ''), path: join(folder, 'middleware', file) }))
  })
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
