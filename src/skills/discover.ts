import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** A skill's folder: which file to load it from, and in which skills folder it was found. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
  folder: string
}

const CODE_FILES = ['index.ts', 'index.js', 'index.mjs']
const MARKDOWN_FILE = 'SKILL.md'
const MODULE = /\.(ts|js|mjs)$/

/**
 * Looks for `<folder>/<name>/index.ts` (or built JavaScript) and `<folder>/<name>/SKILL.md`. A name that
 * is in several folders is taken from the first. Code wins where a folder has both. A folder that is
 * not there holds nothing.
 */
export async function discoverSkills(folders: readonly string[]): Promise<Map<string, FoundSkill>> {
  const found = new Map<string, FoundSkill>()
  for (const folder of folders) {
    for (const name of await entriesOf(folder)) {
      if (found.has(name)) continue
      const skill = await findSkill(folder, name)
      if (skill) found.set(name, skill)
    }
  }
  return found
}

/** Looks for one skill by name. */
async function findSkill(folder: string, name: string): Promise<FoundSkill | undefined> {
  const files = await entriesOf(join(folder, name))
  const code = CODE_FILES.find((file) => files.includes(file))
  if (code) return { name, kind: 'code', path: join(folder, name, code), folder }
  if (!files.includes(MARKDOWN_FILE)) return undefined
  return { name, kind: 'markdown', path: join(folder, name, MARKDOWN_FILE), folder }
}

/** The modules in `<folder>/middleware/`, with the name each file gives its middleware. */
export async function discoverMiddleware(
  folders: readonly string[],
): Promise<{ name: string; path: string }[]> {
  const found: { name: string; path: string }[] = []
  for (const folder of folders) {
    for (const file of await entriesOf(join(folder, 'middleware'))) {
      if (!MODULE.test(file)) continue
      found.push({ name: file.replace(MODULE, ''), path: join(folder, 'middleware', file) })
    }
  }
  return found
}

/** The name of the skill that a changed file belongs to, or undefined where it belongs to none. */
export function skillOfFile(folders: readonly string[], path: string): string | undefined {
  let at = path
  while (dirname(at) !== at) {
    if (folders.includes(dirname(at))) return basename(at)
    at = dirname(at)
  }
  return undefined
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
