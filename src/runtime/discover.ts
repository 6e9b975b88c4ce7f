import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { orNothing } from '../lib/disk.ts'

/** A skill in a folder. `path`: the file to load it from. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
}

/** The files that make a folder a skill. The first one present wins. */
const FILES = { 'index.ts': 'code', 'index.js': 'code', 'index.mjs': 'code', 'SKILL.md': 'markdown' } as const

/**
 * Finds the skills in folders. Code wins over markdown, and earlier folders win over later ones.
 */
export async function discoverSkills(folders: readonly string[]): Promise<FoundSkill[]> {
  const found: FoundSkill[] = []
  for (const { folder, name } of await entriesOfAll(folders)) {
    const files = await entriesOf(join(folder, name))
    const [file, kind] = Object.entries(FILES).find(([one]) => files.includes(one)) ?? []
    if (file && kind) found.push({ name, kind, path: join(folder, name, file) })
  }
  return found
}

/** The names in some folders, except hidden ones. A missing folder counts as empty. */
export async function entriesOfAll(folders: readonly string[]): Promise<{ folder: string; name: string }[]> {
  const found = folders.map(async (folder) => (await entriesOf(folder)).map((name) => ({ folder, name })))
  return (await Promise.all(found)).flat()
}

async function entriesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(orNothing)) ?? []
  return names.filter((name) => !name.startsWith('.')).sort()
}
