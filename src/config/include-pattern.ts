import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { compileExactPattern } from '../core/pattern.ts'
import { isMissing, orNothing } from '../lib/disk.ts'

/** Whether an entry of `include` is a glob (`*`, `?`, `[…]`, `{…}`) rather than a path. */
export function isGlob(entry: string): boolean {
  return /[*?[{]/.test(entry)
}

/**
 * The files that match an absolute glob, sorted; none if a folder is missing. A name that starts
 * with a dot matches only if its pattern does too, because Kubernetes ConfigMaps keep their link
 * targets under such names. Throws for unreadable folders and invalid globs.
 */
export async function filesOf(glob: string): Promise<string[]> {
  const [root = '', ...steps] = glob.split('/')
  let found = [`${root}/`]
  for (const [at, step] of steps.entries()) {
    if (step === '**') throw new Error('`**` is not supported; name each level of folders by `*`')
    const isLast = at === steps.length - 1
    const next = await Promise.all(found.map((folder) => entriesOf(folder, step, isLast)))
    found = next.flat()
  }
  return found.sort()
}

async function entriesOf(folder: string, step: string, isLast: boolean): Promise<string[]> {
  if (!isGlob(step)) {
    const path = join(folder, step)
    return isLast && !(await stat(path).catch(orNothing)) ? [] : [path]
  }
  const { test } = compileExactPattern(step)
  const names = (await namesIn(folder)).filter(
    (name) => test(name) && (step.startsWith('.') || !name.startsWith('.')),
  )
  const kinds = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)))
  // Keep dangling links: reading one reports a clear error.
  const isWanted = (at: number) => kinds[at]?.isDirectory() !== isLast
  return names.filter((_, at) => isWanted(at)).map((name) => join(folder, name))
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
