import { registerHooks } from 'node:module'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Imports modules anew, so that a changed skill takes effect without a restart. */
export type FreshImporter = {
  /** Imports the file, and what it imports from its own skills folder, past the module cache. */
  load(path: string): Promise<Record<string, unknown>>
  close(): void
}

/** Bare names that a skill may import although its own project has not installed them. */
const PROVIDED: Record<string, string> = {
  trivium: new URL(`./public${extname(import.meta.filename)}`, import.meta.url).href,
  zod: import.meta.resolve('zod'),
}

/**
 * The version travels as a query on the URL, from a skill's entry file to its relative imports. Each
 * reload leaves the former module in memory: the price of Node's module cache.
 */
export function createFreshImporter(folders: readonly string[]): FreshImporter {
  const roots = folders.map((folder) => `${pathToFileURL(folder).href}/`)
  const isOurs = (url: string | undefined) => url !== undefined && roots.some((root) => url.startsWith(root))
  let version = 0

  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!isOurs(context.parentURL)) return next(specifier, context)
      const provided = Object.hasOwn(PROVIDED, specifier) ? PROVIDED[specifier] : undefined
      if (provided)
        return nextOr(
          () => next(specifier, context),
          () => next(provided, context),
        )
      const resolved = next(specifier, context)
      const query = new URL(context.parentURL ?? '').search
      if (!query || !isOurs(resolved.url) || resolved.url.includes('?')) return resolved
      return { ...resolved, url: resolved.url + query }
    },
  })

  return {
    async load(path) {
      version += 1
      return (await import(`${pathToFileURL(path).href}?v=${version}`)) as Record<string, unknown>
    },
    close: () => hooks.deregister(),
  }
}

function nextOr<T>(first: () => T, second: () => T): T {
  try {
    return first()
  } catch {
    // Not installed beside the skill: the copy of Trivium itself serves.
    return second()
  }
}
