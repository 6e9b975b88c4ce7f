import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { orNothing } from '../lib/disk.ts'

/** A skill's folder: which file to load it from, and in which skills folder it was found. */
export type FoundSkill = {
  name: string
  kind: 'code' | 'markdown'
  path: string
}

/** What makes a folder a skill; the first that is there counts. */
const FILES = { 'index.ts': 'code', 'index.js': 'code', 'index.mjs': 'code', 'SKILL.md': 'markdown' } as const

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

/** The names in some folders, without hidden ones. A missing folder has none. */
export async function entriesOfAll(folders: readonly string[]): Promise<{ folder: string; name: string }[]> {
  const found = folders.map(async (folder) => (await entriesOf(folder)).map((name) => ({ folder, name })))
  return (await Promise.all(found)).flat()
}

async function entriesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(orNothing)) ?? []
  return names.filter((name) => !name.startsWith('.')).sort()
}
