import { realpathSync } from 'node:fs'
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { dirname, extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inTime } from '../lib/pause.ts'

/** Bare names that a skill may import although its own project has not installed them. */
const PROVIDED: Record<string, string> = {
  trivium: new URL(`../public${extname(import.meta.filename)}`, import.meta.url).href,
  zod: import.meta.resolve('zod'),
}

/** After so many ms a module that waits at its top level, for a server that is away, is given up. */
const PATIENCE = 10_000

export type FreshImporter = ReturnType<typeof createFreshImporter>

/** Imports modules past the cache of Node, by a version in their URLs. Former versions stay in memory. */
export function createFreshImporter(folders: readonly string[]) {
  /** Node resolves links, so a folder counts by its own path and by where it leads. */
  const roots = new Set<string>()
  const addRoot = (folder: string) => {
    for (const path of [folder, realPathOf(folder)]) roots.add(`${pathToFileURL(path).href}/`)
  }
  const isOurs = (url: string | undefined) => {
    return url !== undefined && [...roots].some((root) => url.startsWith(root))
  }
  /** A skill in TypeScript is a module, whatever the package.json above it says. */
  const asModule = (found: ResolveFnOutput) => {
    return isOurs(found.url) && /\.ts(\?|$)/.test(found.url)
      ? { ...found, format: 'module-typescript' }
      : found
  }
  let version = 0

  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!isOurs(context.parentURL)) return asModule(next(specifier, context))
      const provided = Object.hasOwn(PROVIDED, specifier) ? PROVIDED[specifier] : undefined
      if (provided) {
        try {
          return next(specifier, context)
        } catch {
          // Not installed beside the skill: the copy of Trivium itself serves.
          return next(provided, context)
        }
      }
      const resolved = asModule(next(specifier, context))
      const query = new URL(context.parentURL ?? '').search
      if (!query || !isOurs(resolved.url)) return resolved
      return resolved.url.includes('?') ? resolved : { ...resolved, url: resolved.url + query }
    },
  })

  return {
    /** Imports the file, and what it imports from the skills folders, past the module cache. Throws what its code throws. */
    async load(path: string): Promise<Record<string, unknown>> {
      version += 1
      // Node remembers where a link led; that of a Kubernetes volume leads elsewhere after each change.
      const { href } = pathToFileURL(realPathOf(path))
      for (const folder of folders) addRoot(folder)
      if (!isOurs(href)) addRoot(dirname(path))
      const module = await inTime(import(`${href}?v=${version}`), AbortSignal.timeout(PATIENCE))
      if (!module) throw new Error(`its top level did not end within ${PATIENCE / 1000} s`)
      return module
    },
    close: () => hooks.deregister(),
  }
}

/** Where links lead; the path itself where there is nothing (any more). */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
