import { join } from 'node:path'
import type { Middleware } from '../core/skill.ts'
import { entriesOfAll } from './discover.ts'
import { type createFreshImporter, loadMiddleware } from './load-code.ts'
import type { Fail } from './sources.ts'

const MODULE = /\.(ts|js|mjs)$/

/**
 * Makes a function that loads all middleware: the shipped ones, and the modules in
 * `<folder>/middleware/`, each named after its file.
 */
export function createMiddlewareLoader(
  folders: readonly string[],
  shipped: readonly Middleware[],
  importer: ReturnType<typeof createFreshImporter>,
) {
  /** The last good version of each file, by path. */
  const lastGood = new Map<string, Middleware>()

  return async (fail: Fail): Promise<Middleware[]> => {
    const all = new Map(shipped.map((one) => [one.name, one]))
    const inFolders = await entriesOfAll(folders.map((folder) => join(folder, 'middleware')))
    for (const { folder, name: file } of inFolders.filter(({ name }) => MODULE.test(name))) {
      const found = { name: file.replace(MODULE, ''), path: join(folder, file) }
      try {
        lastGood.set(found.path, await loadMiddleware(found, importer))
      } catch (error) {
        fail(`middleware/${found.name}`, found.path, lastGood.has(found.path), error)
      }
      const usable = lastGood.get(found.path) ?? brokenMiddleware(found)
      all.set(usable.name, usable)
    }
    return [...all.values()]
  }
}

/**
 * Replaces middleware that has never loaded. It breaks every skill that uses it, so that none runs
 * without its layer.
 */
function brokenMiddleware({ name, path }: { name: string; path: string }): Middleware {
  const setup = () => {
    throw new Error(`the middleware ${path} cannot be loaded`)
  }
  return { name, order: 0, description: 'It cannot be loaded.', setup }
}
