import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** The files beside a `SKILL.md`, which its prompt may refer to. */
export type SkillFiles = Awaited<ReturnType<typeof findSkillFiles>>

const MAX_FILES = 100
const MAX_BYTES = 256 * 1024

/** Looks once, when the skill is loaded; only what it found can be read. Links and hidden files do not count. */
export async function findSkillFiles(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => name !== 'SKILL.md' && !/(^|\/)\./.test(name))
    .sort()
    .slice(0, MAX_FILES)
  return {
    /** Paths within the skill's folder, with `/`. */
    names,
    /** The text of one of them. Throws for any other path, and for a file over 256 KB. */
    async read(name: string): Promise<string> {
      if (!names.includes(name)) throw new Error(`this skill has no file ${name}`)
      const path = join(folder, name)
      const { size } = await stat(path)
      if (size > MAX_BYTES) throw new Error(`${name} is over ${MAX_BYTES} bytes`)
      return readFile(path, 'utf8')
    },
  }
}
