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
  for (const [index, step] of steps.entries()) {
    if (step === '**') throw new Error('`**` is not supported; name each level of folders by `*`')
    const isLast = index === steps.length - 1
    const next = await Promise.all(found.map((folder) => entriesOf(folder, step, isLast)))
    found = next.flat()
  }
  return found.sort()
}

/** The paths in a folder that match one step of a glob. */
async function entriesOf(folder: string, step: string, isLast: boolean): Promise<string[]> {
  if (!isGlob(step)) {
    const path = join(folder, step)
    return isLast && !(await stat(path).catch(orNothing)) ? [] : [path]
  }
  const { test } = compileExactPattern(step)
  const isShown = (name: string) => step.startsWith('.') || !name.startsWith('.')
  const names = (await namesIn(folder)).filter((name) => test(name) && isShown(name))
  const paths = names.map((name) => join(folder, name))
  const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)))
  // Files in the last step, folders before it. Keeps dangling links: reading one reports a clear
  // error.
  return paths.filter((_, index) => stats[index]?.isDirectory() !== isLast)
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
