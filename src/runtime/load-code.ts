import { realpathSync } from 'node:fs'
import { createRequire, type ResolveFnOutput, registerHooks } from 'node:module'
import { dirname, extname, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { LAYERS_BY_KEY } from '../core/layers.ts'
import { ANY_ARGS, type Middleware, outputJsonSchema, type Skill, skillJsonSchema } from '../core/skill.ts'
import { attempt } from '../lib/attempt.ts'
import { inTime } from '../lib/pause.ts'
import { parseSettings } from './parse-settings.ts'

/** The form of skill names. */
export const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === 'object' && value !== null && 'safeParse' in value && '_zod' in value

const skillShape = z.object({
  name: z.string().regex(SKILL_NAME, 'use lower-case letters, digits and dashes').optional(),
  description: z.string().min(1),
  args: z.custom<z.ZodType>(isSchema, 'must be a zod (4) schema').default(() => ANY_ARGS),
  output: z.custom<z.ZodType>(isSchema, 'must be a zod (4) schema').exactOptional(),
  metadata: z.custom<JsonObject>(isJsonObject, 'must be an object').optional(),
  run: z.custom<Skill['run']>((value) => typeof value === 'function', 'must be a function'),
})

type FoundFile = { name: string; path: string }

/** Imports a code skill, the default export of its module. Throws if it is not a skill. */
export async function loadCodeSkill(found: FoundFile, importer: FreshImporter): Promise<Skill> {
  const exported = await importDefault(found.path, importer)
  if (exported === undefined) throw new Error('it has no default export; export default defineSkill({ … })')
  // Outside `metadata`, these keys would be ignored silently, although most restrict the skill.
  const misplaced = LAYERS_BY_KEY.find((key) => isJsonObject(exported) && Object.hasOwn(exported, key))
  if (misplaced) throw new Error(`\`${misplaced}\` belongs in metadata: { '${misplaced}': … }`)
  const { name = found.name, metadata, ...rest } = parseSettings(skillShape, exported)
  if (name !== found.name) throw new Error(`its name is ${name}, but its folder is ${found.name}`)
  try {
    // Tried here, because a skill without a JSON Schema would break lists of skills later.
    skillJsonSchema(rest)
    outputJsonSchema(rest)
  } catch (error) {
    throw new Error(`args or output cannot be converted to JSON Schema: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  return { name, ...rest, ...(metadata ? { metadata } : {}) }
}

const middlewareShape = z.object({
  name: z.string().min(1).exactOptional(),
  order: z.number(),
  description: z.string(),
  always: z.boolean().default(false),
  setup: z.custom<Middleware['setup']>((value) => typeof value === 'function', 'must be a function'),
})

/** Imports a middleware, the default export of `middleware/<name>.ts`. Throws if it is not one. */
export async function loadMiddleware(found: FoundFile, importer: FreshImporter): Promise<Middleware> {
  return { name: found.name, ...parseSettings(middlewareShape, await importDefault(found.path, importer)) }
}

async function importDefault(path: string, importer: FreshImporter): Promise<unknown> {
  return (await importer.load(path).catch((error) => throwWithPlace(error, path))).default
}

/**
 * Finds file and line in a stack frame, such as `at run (file:///skills/echo/index.ts?v=3:12:5)`:
 * Node reports the place of an error only in the stack. Frames of Node itself (`node:internal/…`)
 * do not match.
 */
const STACK_FRAME = /(?:^|\(|at (?:async )?)(?:file:\/\/)?(\/[^\s()?:]+)(?:\?v=\d+)?:(\d+)(?::\d+)?\)?$/gm

/** Rethrows an error with the file (if not `path`) and line before its message. */
function throwWithPlace(error: unknown, path: string): never {
  if (!(error instanceof Error)) throw error
  const own = realPathOf(path)
  const folder = dirname(dirname(own))
  for (const [, at = '', line] of (error.stack ?? '').matchAll(STACK_FRAME)) {
    const file = realPathOf(decodeURI(at))
    if (!file.startsWith(folder + sep)) continue
    const where = file === own ? '' : `${relative(folder, file)} `
    throw new Error(`${where}line ${line}: ${error.message}`, { cause: error })
  }
  throw error
}

/** Packages that skills may import without installing them. */
const PROVIDED: Record<string, string> = {
  trivium: new URL(`../public${extname(import.meta.filename)}`, import.meta.url).href,
  zod: import.meta.resolve('zod'),
}

/** Timeout (ms) of the import of a module, which may have a top-level await. */
const IMPORT_TIMEOUT = 10_000

/** Shared by all importers, so that a URL never stands for two versions of a file. */
let version = 0

/** Gives access to the cache of CommonJS modules. */
const require = createRequire(import.meta.url)
/** Files loaded as CommonJS. */
const commonJs = new Set<string>()

type FreshImporter = ReturnType<typeof createFreshImporter>

/** Imports modules anew each time, by a version in the URL. Old versions stay in memory. */
export function createFreshImporter(folders: readonly string[] = []) {
  /**
   * The URLs of the folders: by their own path, and by their target, because Node resolves links.
   */
  const roots = new Set<string>()
  const addRoot = (folder: string) => {
    for (const path of [folder, realPathOf(folder)]) roots.add(`${pathToFileURL(path).href}/`)
  }
  /** Packages inside a folder do not count. The folder itself may be in a package. */
  const isInRoots = (url = '') => {
    return [...roots].some((root) => url.startsWith(root) && !url.includes('/node_modules/', root.length - 1))
  }
  /** TypeScript skills are ES modules regardless of their package.json. */
  const asModule = (found: ResolveFnOutput) => {
    return isInRoots(found.url) && /\.ts(\?|$)/.test(found.url)
      ? { ...found, format: 'module-typescript' }
      : found
  }

  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!isInRoots(context.parentURL)) return asModule(next(specifier, context))
      const provided = Object.hasOwn(PROVIDED, specifier) ? PROVIDED[specifier] : undefined
      // Prefers an installed package to Trivium's own copy.
      if (provided) return attempt(() => next(specifier, context)) ?? next(provided, context)
      const resolved = asModule(next(specifier, context))
      const query = new URL(context.parentURL ?? '').search
      if (!query || !isInRoots(resolved.url)) return resolved
      return resolved.url.includes('?') ? resolved : { ...resolved, url: resolved.url + query }
    },
  })

  return {
    /**
     * Imports a file and its imports from the folders, without the module cache. Throws the errors
     * of its code.
     */
    async load(path: string): Promise<Record<string, unknown>> {
      // Node caches link targets, but links of a Kubernetes volume change with each update.
      const real = realPathOf(path)
      const { href } = pathToFileURL(real)
      for (const folder of folders) addRoot(folder)
      if (!isInRoots(href)) addRoot(dirname(path))
      const home = dirname(real) + sep
      for (const at of commonJs.has(real) ? Object.keys(require.cache) : []) {
        if (at.startsWith(home) && !at.includes('/node_modules/', home.length - 1)) delete require.cache[at]
      }
      // A CommonJS file that was loaded before: `import` would take its re-exports for a circle,
      // `require` does not. Errors are left to the `import` below.
      if (commonJs.has(real)) attempt(() => require(real))
      const module = await inTime(import(`${href}?v=${++version}`), AbortSignal.timeout(IMPORT_TIMEOUT))
      if (require.cache[real]) commonJs.add(real)
      if (!module) throw new Error(`its top-level await did not finish within ${IMPORT_TIMEOUT / 1000} s`)
      return module
    },
    close: () => hooks.deregister(),
  }
}

/** The target of links, or the path itself if it does not exist. */
function realPathOf(path: string): string {
  return attempt(() => realpathSync(path)) ?? path
}
